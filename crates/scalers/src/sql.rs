//! What the triggers on SQL databases share: the one number that a query gives.

/// What a query gave, as text. Only the first row counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct QueryResult {
    pub(crate) columns: usize,
    /// `None` in it is NULL.
    pub(crate) first_row: Option<Vec<Option<String>>>,
}

impl QueryResult {
    /// The number, or why there is none.
    pub(crate) fn number(&self) -> Result<f64, String> {
        let row = match (self.columns, &self.first_row) {
            (0, _) => return Err("the query gives no rows: it is no SELECT".to_owned()),
            (1, None) => return Err("the query gives no row".to_owned()),
            (1, Some(row)) => row,
            (columns, _) => return Err(format!("the query gives {columns} columns instead of one")),
        };
        let Some(text) = row.first().and_then(Option::as_deref) else {
            return Err("the query gives NULL".to_owned());
        };
        match text.trim().parse() {
            Ok(number) if f64::is_finite(number) => Ok(number),
            _ => Err("the query gives something else than a number".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_row_of_one_column_is_the_number() {
        let text = |text: &str| Some(vec![Some(text.to_owned())]);
        let rows = [
            ("a whole number", 1, text("42"), Some(42.0)),
            ("a fraction", 1, text("-0.25"), Some(-0.25)),
            ("an exponent", 1, text("1e3"), Some(1000.0)),
            ("padded text", 1, text(" 7 "), Some(7.0)),
            ("a name", 1, text("many"), None),
            ("nothing", 1, text(""), None),
            ("no number", 1, text("NaN"), None),
            ("without an end", 1, text("Infinity"), None),
            ("NULL", 1, Some(vec![None]), None),
            ("no row", 1, None, None),
            ("two columns", 2, Some(vec![Some("1".to_owned()), Some("2".to_owned())]), None),
            ("two columns and no row", 2, None, None),
            ("no SELECT", 0, None, None),
        ];
        for (name, columns, first_row, expected) in rows {
            assert_eq!(QueryResult { columns, first_row }.number().ok(), expected, "{name}");
        }
    }
}
