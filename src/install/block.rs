//! A piece of text of ours in a file of the user's, between two lines by which it is known again.

const BEGIN: &str = "<!-- git-agentlock begin: written by `git agentlock instructions --write` -->";
const END: &str = "<!-- git-agentlock end -->";

/// The text with the block in it: in the place of the one that is there, else at the end.
///
/// `None` when a block begins and does not end: then nobody knows what is ours.
#[must_use]
pub fn put_in(before: &str, block: &str) -> Option<String> {
    let newline = if before.contains("\r\n") { "\r\n" } else { "\n" };
    let block = format!("{BEGIN}\n{}\n{END}", block.trim()).replace('\n', newline);
    let Some((head, rest)) = before.split_once(BEGIN) else {
        let gap = match before {
            "" => "",
            text if text.ends_with(&format!("{newline}{newline}")) => "",
            text if text.ends_with(newline) => newline,
            _ => &format!("{newline}{newline}"),
        };
        return Some(format!("{before}{gap}{block}{newline}"));
    };
    let (_, tail) = rest.split_once(END)?;
    Some(format!("{head}{block}{tail}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_block_is_put_at_the_end_and_replaced_where_it_is() {
        for (before, gap) in
            [("", ""), ("# Mine\n", "\n"), ("# Mine\n\n", ""), ("# Mine", "\n\n"), ("# Mine\r\n", "\r\n")]
        {
            let newline = if before.contains('\r') { "\r\n" } else { "\n" };
            let first = put_in(before, "one\n").expect("a text");
            assert_eq!(first, format!("{before}{gap}{BEGIN}{newline}one{newline}{END}{newline}"));
            assert_eq!(put_in(&first, "one\n").as_deref(), Some(first.as_str()), "again");
            let more = format!("{first}## More of mine{newline}");
            let second = put_in(&more, "two\nlines").expect("a text");
            assert_eq!(second, more.replace("one", &format!("two{newline}lines")));
        }
    }

    #[test]
    fn a_block_without_an_end_is_left_alone() {
        assert_eq!(put_in(&format!("x\n{BEGIN}\ny\n"), "one"), None);
    }
}
