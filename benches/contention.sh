#!/usr/bin/env bash
# Many processes at once: on paths of their own, where none should wait for another for long, and all on one path.
# Needs python3. Usage: benches/contention.sh [ROUNDS]
rounds=${1:-200}
. "$(dirname "$0")/lib.sh"

repository repo
now() { date +%s%N; }

# $1 loops at once, each with a path of its own.
own() {
    local each=$((4 * rounds / $1)) begin
    begin=$(now)
    for ((i = 0; i < $1; i++)); do
        (for ((n = 0; n < each; n++)); do
            "$lock" acquire "own/$i" --owner "o$i" --quiet && "$lock" release "own/$i" --owner "o$i" --quiet || echo "o$i got none" >&2
        done) &
    done
    wait
    echo $(($(now) - begin)) $((2 * each * $1))
}
echo "acquire and release, each process a path of its own; beside it as many empty processes:"
for count in 1 4 16 64; do
    read -r took operations < <(own $count)
    begin=$(now)
    for ((i = 0; i < count; i++)); do
        (for ((n = 0; n < 8 * rounds / count; n++)); do /bin/true; done) &
    done
    wait
    empty=$(($(now) - begin))
    awk -v n=$count -v t="$took" -v o="$operations" -v e=$empty -v p=$((8 * rounds / count * count)) 'BEGIN {
        printf "  %3d processes: %6.0f operations/s; %6.0f empty processes/s\n", n, o * 1e9 / t, p * 1e9 / e }'
done
"$python" - "$lock" "$rounds" <<'PY'
import statistics, subprocess, sys, threading, time
lock, rounds = sys.argv[1], int(sys.argv[2])


def run(*arguments):
    begin = time.perf_counter()
    code = subprocess.run([lock, *arguments], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode
    return code, (time.perf_counter() - begin) * 1000


def at_once(count, work):
    threads = [threading.Thread(target=work, args=(i,)) for i in range(count)]
    begin = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - begin


print("acquire of one path by all at once:")
for count in (1, 4, 16, 64):
    winners, losers = [], []
    for n in range(max(1, rounds // count)):
        results = [None] * count

        def race(i):
            results[i] = run("acquire", f"one/{n}", "--owner", f"o{i}")

        at_once(count, race)
        winners += [ms for code, ms in results if code == 0]
        losers += [ms for code, ms in results if code == 1]
        assert sum(code == 0 for code, _ in results) == 1, "not one owner"
    lost = f"{statistics.median(losers):6.2f} ms" if losers else "     -"
    print(f"  {count:3} processes: winner {statistics.median(winners):6.2f} ms, losers {lost} (medians)")
PY
