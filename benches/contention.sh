#!/usr/bin/env bash
# Many processes at once: on paths of their own, where none should wait for another for long, and all on one path.
# Needs python3. Usage: benches/contention.sh [ROUNDS]
rounds=${1:-200}
. "$(dirname "$0")/lib.sh"

repository repo
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


print("acquire and release, each process a path of its own:")
for count in (1, 4, 16, 64):
    each, codes, took = max(1, 4 * rounds // count), [], []

    def work(i):
        for n in range(each):
            for command in ("acquire", "release"):
                code, ms = run(command, f"own/{i}", "--owner", f"o{i}")
                codes.append(code)
                took.append(ms)

    wall = at_once(count, work)
    assert not any(codes), "somebody got none"
    took.sort()
    print(f"  {count:3} processes: {len(took) / wall:7.0f} operations/s, median {statistics.median(took):6.2f} ms, "
          f"99 % {took[int(len(took) * 0.99) - 1]:6.2f} ms")

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
        run("release", "--all", "--store", "--owner", "nobody")
    lost = f"{statistics.median(losers):6.2f} ms" if losers else "     -"
    print(f"  {count:3} processes: winner {statistics.median(winners):6.2f} ms, losers {lost} (medians)")
PY
