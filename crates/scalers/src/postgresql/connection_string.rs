//! Connection strings: `keyword=value` pairs or a URL, by the rules of libpq, which pgx follows.

use std::collections::BTreeMap;

use percent_encoding::percent_decode_str;

use crate::percent::has_whole_escapes;

/// Keywords and values. The name of the database is `dbname`.
pub(super) type Keywords = BTreeMap<String, String>;

/// What libpq takes for white space.
const SPACE: [char; 6] = [' ', '\t', '\n', '\r', '\u{b}', '\u{c}'];

/// Reads either form. A problem never quotes the text: any part of it may be a password in the wrong place.
pub(super) fn parse(text: &str) -> Result<Keywords, &'static str> {
    if text.contains('\0') {
        return Err("has a zero byte");
    }
    match ["postgres://", "postgresql://"].iter().find_map(|scheme| text.strip_prefix(scheme)) {
        Some(rest) => parse_url(rest),
        None if text.contains("://") && !text.contains('=') => Err("is a URL of another kind"),
        None => parse_pairs(text),
    }
}

// pgx: `database` is another name of `dbname`.
fn insert(keywords: &mut Keywords, keyword: &str, value: String) {
    let keyword = if keyword == "database" { "dbname" } else { keyword };
    keywords.insert(keyword.to_owned(), value);
}

fn parse_pairs(text: &str) -> Result<Keywords, &'static str> {
    let mut keywords = Keywords::new();
    let mut rest = text.trim_start_matches(SPACE);
    while !rest.is_empty() {
        let (keyword, after) = rest.split_once('=').ok_or("has a keyword without a value")?;
        let keyword = keyword.trim_matches(SPACE);
        if keyword.is_empty() || keyword.contains(SPACE) {
            return Err("has a keyword without a value");
        }
        let after = after.trim_start_matches(SPACE);
        let (value, next) = match after.strip_prefix('\'') {
            Some(quoted) => {
                let (value, end) = unescape(quoted, |c| c == '\'');
                (value, &quoted[end.ok_or("has a quote that does not end")? + 1..])
            }
            None => {
                let (value, end) = unescape(after, |c| SPACE.contains(&c));
                (value, &after[end.unwrap_or(after.len())..])
            }
        };
        rest = next.trim_start_matches(SPACE);
        // pgx: an empty user is none.
        if keyword != "user" || !value.is_empty() {
            insert(&mut keywords, keyword, value);
        }
    }
    Ok(keywords)
}

/// The value up to its end, if that is there: a backslash makes whatever follows it part of the value.
fn unescape(text: &str, is_end: impl Fn(char) -> bool) -> (String, Option<usize>) {
    let mut value = String::new();
    let mut characters = text.char_indices();
    while let Some((position, character)) = characters.next() {
        match character {
            '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
            end if is_end(end) => return (value, Some(position)),
            other => value.push(other),
        }
    }
    (value, None)
}

/// Several hosts, and a host without a name, are not what other URLs can have.
fn parse_url(text: &str) -> Result<Keywords, &'static str> {
    let mut keywords = Keywords::new();
    let before_path = text.split('/').next().unwrap_or_default();
    let rest = match before_path.split_once('@') {
        Some((user_info, _)) => {
            let (user, password) = user_info.split_once(':').unwrap_or((user_info, ""));
            for (keyword, value) in [("user", user), ("password", password)] {
                if !value.is_empty() {
                    insert(&mut keywords, keyword, decode(value)?);
                }
            }
            &text[user_info.len() + 1..]
        }
        None => text,
    };
    let rest = parse_hosts(rest, &mut keywords)?;
    let (path, query) = rest.split_once('?').unwrap_or((rest, ""));
    if let Some(name) = path.strip_prefix('/').filter(|name| !name.is_empty()) {
        insert(&mut keywords, "dbname", decode(name)?);
    }
    parse_query(query, &mut keywords)?;
    Ok(keywords)
}

/// Reads `host:port,host:port`, and returns what follows.
fn parse_hosts<'a>(text: &'a str, keywords: &mut Keywords) -> Result<&'a str, &'static str> {
    let (mut hosts, mut ports, mut rest) = (String::new(), String::new(), text);
    loop {
        let (host, after) = match rest.strip_prefix('[') {
            Some(bracketed) => {
                let (host, after) = bracketed.split_once(']').ok_or("has a bracket that does not end")?;
                if host.is_empty() || !(after.is_empty() || after.starts_with([':', '/', '?', ','])) {
                    return Err("has an IPv6 address that cannot be read");
                }
                (host, after)
            }
            None => rest.split_at(rest.find([':', '/', '?', ',']).unwrap_or(rest.len())),
        };
        hosts += host;
        rest = after;
        if let Some(after) = rest.strip_prefix(':') {
            let (port, after) = after.split_at(after.find(['/', '?', ',']).unwrap_or(after.len()));
            ports += port;
            rest = after;
        }
        let Some(next) = rest.strip_prefix(',') else { break };
        hosts.push(',');
        ports.push(',');
        rest = next;
    }
    for (keyword, value) in [("host", hosts), ("port", ports)] {
        if !value.is_empty() {
            insert(keywords, keyword, decode(&value)?);
        }
    }
    Ok(rest)
}

fn parse_query(query: &str, keywords: &mut Keywords) -> Result<(), &'static str> {
    // As in JDBC: `ssl=true` is a name of `sslmode=require`, and the last of the two counts.
    let (mut ssl, mut sslmode) = (None, None);
    for (position, pair) in query.split('&').filter(|pair| !pair.is_empty()).enumerate() {
        let (keyword, value) = pair.split_once('=').ok_or("has a parameter without a value")?;
        if value.contains('=') {
            return Err("has a parameter with a second `=`; write %3D");
        }
        let (keyword, value) = (decode(keyword)?, decode(value)?);
        match keyword.as_str() {
            "ssl" => ssl = Some((position, value)),
            "sslmode" => sslmode = Some((position, value)),
            keyword => insert(keywords, keyword, value),
        }
    }
    match (ssl, sslmode) {
        (Some((_, ssl)), sslmode) if ssl != "true" => {
            insert(keywords, "ssl", ssl);
            sslmode.into_iter().for_each(|(_, mode)| insert(keywords, "sslmode", mode));
        }
        (Some((at, _)), Some((mode_at, mode))) if mode_at > at => insert(keywords, "sslmode", mode),
        (Some(_), _) => insert(keywords, "sslmode", "require".to_owned()),
        (None, Some((_, mode))) => insert(keywords, "sslmode", mode),
        (None, None) => {}
    }
    Ok(())
}

/// Decodes percent signs, of which each must have two digits.
fn decode(text: &str) -> Result<String, &'static str> {
    let text = text.trim_matches(' ');
    if text.contains(' ') {
        return Err("has a space inside a part; write %20");
    }
    if !has_whole_escapes(text) {
        return Err("has a `%` that two hexadecimal digits do not follow; write %25 for the sign itself");
    }
    let decoded = percent_decode_str(text).decode_utf8().map_err(|_| "is not UTF-8")?;
    if decoded.contains('\0') { Err("has a zero byte") } else { Ok(decoded.into_owned()) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Result<Vec<(String, String)>, &'static str> {
        parse(text).map(|keywords| keywords.into_iter().collect())
    }

    #[test]
    fn both_forms_are_read_as_libpq_reads_them() {
        let rows: [(&str, &[(&str, &str)]); 26] = [
            ("", &[]),
            ("  ", &[]),
            ("host=a port=1", &[("host", "a"), ("port", "1")]),
            ("\thost = a\n port= 1 ", &[("host", "a"), ("port", "1")]),
            ("host=a,b port=1,2", &[("host", "a,b"), ("port", "1,2")]),
            ("dbname=a database=b", &[("dbname", "b")]),
            (r"password='a b' user=c", &[("password", "a b"), ("user", "c")]),
            (r"password='it\'s \\ = here'", &[("password", r"it's \ = here")]),
            (r"password=a\ b\'c\\", &[("password", r"a b'c\")]),
            (r"password=a\", &[("password", "a")]),
            ("password=a'b", &[("password", "a'b")]),
            ("password=ä=ö", &[("password", "ä=ö")]),
            ("host=a password=", &[("host", "a"), ("password", "")]),
            ("password='' user=''", &[("password", "")]),
            ("host='a'port=1", &[("host", "a"), ("port", "1")]),
            ("postgres://", &[]),
            ("postgres://h", &[("host", "h")]),
            (
                "postgresql://u:p%40w@h:1/d?sslmode=require",
                &[
                    ("dbname", "d"),
                    ("host", "h"),
                    ("password", "p@w"),
                    ("port", "1"),
                    ("sslmode", "require"),
                    ("user", "u"),
                ],
            ),
            ("postgres://u@/d", &[("dbname", "d"), ("user", "u")]),
            ("postgres://a:1,b,[::1]:3/d", &[("dbname", "d"), ("host", "a,b,::1"), ("port", "1,,3")]),
            ("postgres://a,b", &[("host", "a,b"), ("port", ",")]),
            ("postgres:///d?host=h&port=1", &[("dbname", "d"), ("host", "h"), ("port", "1")]),
            ("postgres://h?search_path=a%2Cb", &[("host", "h"), ("search_path", "a,b")]),
            ("postgres://h?ssl=true", &[("host", "h"), ("sslmode", "require")]),
            ("postgres://h?ssl=true&sslmode=disable", &[("host", "h"), ("sslmode", "disable")]),
            ("postgres://h?sslmode=disable&ssl=true", &[("host", "h"), ("sslmode", "require")]),
        ];
        for (text, expected) in rows {
            let expected: Vec<(String, String)> =
                expected.iter().map(|(keyword, value)| ((*keyword).to_owned(), (*value).to_owned())).collect();
            assert_eq!(read(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_connection_string_is_refused_without_its_text() {
        let rows = [
            ("hunter2", "has a keyword without a value"),
            ("host=a hunter2 b=c", "has a keyword without a value"),
            ("=hunter2", "has a keyword without a value"),
            ("password='hunter2", "has a quote that does not end"),
            (r"password='hunter2\", "has a quote that does not end"),
            (r"password='hunter2\'", "has a quote that does not end"),
            ("password=a\0", "has a zero byte"),
            ("mysql://u:hunter2@h", "is a URL of another kind"),
            ("postgres://u:hunter2%@h", "has a `%` that two hexadecimal digits do not follow"),
            ("postgres://u:hunter2%4@h", "has a `%` that"),
            ("postgres://u:hunter2%00@h", "has a zero byte"),
            ("postgres://u:hunter2%ff@h", "is not UTF-8"),
            ("postgres://u:hunter 2@h", "has a space inside a part"),
            ("postgres://[::1", "has a bracket that does not end"),
            ("postgres://[]", "has an IPv6 address that cannot be read"),
            ("postgres://[::1]hunter2", "has an IPv6 address that cannot be read"),
            ("postgres://h?hunter2", "has a parameter without a value"),
            ("postgres://h?password=hunter2=", "has a parameter with a second `=`"),
        ];
        for (text, expected) in rows {
            let problem = parse(text).unwrap_err();
            assert!(problem.starts_with(expected), "{text}: {problem}");
        }
    }

    /// As KEDA and libpq's users quote.
    fn quoted(value: &str) -> String {
        format!("'{}'", value.replace('\\', r"\\").replace('\'', r"\'"))
    }

    proptest! {
        #[test]
        fn quoted_values_come_back(user in "[^\0]{1,9}", password in "[^\0]{0,9}") {
            let keywords = parse(&format!("user={} password={}", quoted(&user), quoted(&password))).unwrap();
            prop_assert_eq!((&keywords["user"], &keywords["password"]), (&user, &password));
        }

        #[test]
        fn no_text_makes_it_panic(text in any::<String>(), url in "postgres://[a-z:@/?,=&%\\[\\]ä 0]{0,12}", pairs in "[a='\\\\ ä]{0,12}") {
            let _ = (parse(&text), parse(&url), parse(&pairs));
        }
    }
}
