//! Comma-separated tables: comments, a header, and rows by column name (RFC 4180).

use std::collections::BTreeMap;

/// The rows of a table, each by column name. Lines that start with `#` are comments; the first other line names the
/// columns. A row of another length than the header's ends the test.
pub fn rows(text: &str) -> Vec<BTreeMap<String, String>> {
    let mut records = records(text).into_iter();
    let header = records.next().expect("the table has a header");
    let named = |record: Vec<String>| {
        assert_eq!(record.len(), header.len(), "a value for each column: {record:?}");
        header.iter().cloned().zip(record).collect()
    };
    records.map(named).collect()
}

fn records(text: &str) -> Vec<Vec<String>> {
    let mut records = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let line = rest.lines().next().unwrap_or_default();
        if line.is_empty() || line.starts_with('#') {
            rest = rest.split_once('\n').map_or("", |(_, after)| after);
            continue;
        }
        let (record, after) = record(rest);
        records.push(record);
        rest = after;
    }
    records
}

/// The first record of the text, and what follows it. A quoted value may hold commas and line ends.
fn record(mut rest: &str) -> (Vec<String>, &str) {
    let mut values = Vec::new();
    loop {
        let (value, after) = value(rest);
        values.push(value);
        match after.strip_prefix(',') {
            Some(next) => rest = next,
            None => break (values, after.trim_start_matches('\r').strip_prefix('\n').unwrap_or("")),
        }
    }
}

fn value(text: &str) -> (String, &str) {
    let Some(mut rest) = text.strip_prefix('"') else {
        let end = text.find([',', '\r', '\n']).unwrap_or(text.len());
        return (text[..end].to_owned(), &text[end..]);
    };
    let mut value = String::new();
    loop {
        let (part, after) = rest.split_once('"').expect("a quoted value ends");
        value.push_str(part);
        match after.strip_prefix('"') {
            Some(next) => {
                value.push('"');
                rest = next;
            }
            None => break (value, after),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_values_keep_commas_quotes_and_line_ends() {
        let table = "# a, comment\nid,text\r\n1,\"a, \"\"b\"\"\nc\"\n\n2,\n";
        let read: Vec<_> = rows(table).into_iter().map(|row| (row["id"].clone(), row["text"].clone())).collect();
        assert_eq!(read, [("1".to_owned(), "a, \"b\"\nc".to_owned()), ("2".to_owned(), String::new())]);
    }
}
