//! What a query gives: results as text, one packet after the other. All rows but the first are passed over.

use super::packet::Body;
use super::{MysqlError, ServerError};

/// No table has more columns, and no query that fits a packet.
const COLUMNS_MAX: u64 = 4096;

/// The first result with columns, of all that a query gave.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// 0 where no statement gives rows.
    pub columns: usize,
    /// `None` in it is NULL.
    pub first_row: Option<Vec<Option<Vec<u8>>>>,
    /// Whether the connection is in a transaction now, whose view of the data would stay as it is.
    pub is_in_transaction: bool,
}

/// How far an answer is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// Another packet follows.
    More,
    Done(Outcome),
    Refused(ServerError),
}

/// An answer to a query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextResults {
    state: State,
    /// Of the present result.
    columns: usize,
    row: Option<Vec<Option<Vec<u8>>>>,
    outcome: Outcome,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Start,
    /// So many descriptions of columns follow.
    Columns(usize),
    ColumnsEnd,
    Rows,
}

/// The status of a server after a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Status(u16);

impl Status {
    const IN_TRANSACTION: u16 = 1;
    const MORE_RESULTS: u16 = 8;

    fn has(self, bit: u16) -> bool {
        self.0 & bit != 0
    }
}

impl TextResults {
    /// Takes the payload of the next packet.
    pub fn push(&mut self, payload: &[u8]) -> Result<Progress, MysqlError> {
        if let Some(error) = ServerError::decode(payload)? {
            return Ok(Progress::Refused(error));
        }
        match self.state {
            State::Start => self.start(payload),
            State::Columns(left) => {
                check_column(payload)?;
                self.state = if left > 1 { State::Columns(left - 1) } else { State::ColumnsEnd };
                Ok(Progress::More)
            }
            State::ColumnsEnd => {
                decode_end(payload)?.ok_or(MysqlError::Unexpected("the end of the columns"))?;
                self.state = State::Rows;
                Ok(Progress::More)
            }
            State::Rows => match decode_end(payload)? {
                Some(status) => Ok(self.end(status)),
                None => self.row(payload),
            },
        }
    }

    fn start(&mut self, payload: &[u8]) -> Result<Progress, MysqlError> {
        let mut body = Body::new(payload);
        let number = match payload.first() {
            // No rows: so many were changed.
            Some(0) => {
                body.byte()?;
                let (_changed, _last_id) = (body.integer()?, body.integer()?);
                let (status, _warnings) = (Status(body.u16()?), body.u16()?);
                return Ok(self.end(status));
            }
            // The server asks for a file: NULL in place of a number.
            _ => body.integer()?.filter(|number| (1..=COLUMNS_MAX).contains(number)),
        };
        let columns = number.and_then(|number| usize::try_from(number).ok()).filter(|_| body.is_empty());
        self.columns = columns.ok_or(MysqlError::Unexpected("a number of columns"))?;
        self.state = State::Columns(self.columns);
        Ok(Progress::More)
    }

    fn row(&mut self, payload: &[u8]) -> Result<Progress, MysqlError> {
        if self.row.is_none() {
            let mut body = Body::new(payload);
            let values = (0..self.columns).map(|_| body.text().map(|text| text.map(<[u8]>::to_vec)));
            let row = values.collect::<Result<_, _>>()?;
            if !body.is_empty() {
                return Err(MysqlError::Surplus);
            }
            self.row = Some(row);
        }
        Ok(Progress::More)
    }

    fn end(&mut self, status: Status) -> Progress {
        let row = self.row.take();
        if self.outcome.columns == 0 {
            (self.outcome.columns, self.outcome.first_row) = (self.columns, row);
        }
        (self.state, self.columns) = (State::Start, 0);
        if status.has(Status::MORE_RESULTS) {
            return Progress::More;
        }
        self.outcome.is_in_transaction = status.has(Status::IN_TRANSACTION);
        Progress::Done(std::mem::take(&mut self.outcome))
    }
}

/// The status in a packet that ends columns or rows, if it is one. A row that begins with the same byte is far longer.
fn decode_end(payload: &[u8]) -> Result<Option<Status>, MysqlError> {
    const LENGTH: usize = 5;
    const ROW_LENGTH_MIN: usize = 9;
    let mut body = Body::new(payload);
    if body.byte()? != 0xfe || payload.len() >= ROW_LENGTH_MIN {
        return Ok(None);
    }
    if payload.len() != LENGTH {
        return Err(MysqlError::Unexpected("an end"));
    }
    let _warnings = body.u16()?;
    body.u16().map(|status| Some(Status(status)))
}

/// Nothing in it is needed; but it must be a description of a column.
fn check_column(payload: &[u8]) -> Result<(), MysqlError> {
    match Body::new(payload).text()? {
        Some(b"def") => Ok(()),
        _ => Err(MysqlError::Unexpected("a column")),
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::mysql::packet::{write_integer, write_text};

    const END: &[u8] = &[0xfe, 0, 0, 2, 0];
    const END_WITH_MORE: &[u8] = &[0xfe, 0, 0, 8, 0];
    const OK: &[u8] = &[0, 0, 0, 2, 0, 0, 0];
    const OK_WITH_MORE: &[u8] = &[0, 0, 0, 8, 0, 0, 0];
    const COLUMN: &[u8] = b"\x03def\0\0\0\x01n\0\x0c\x3f\0\x15\0\0\0\x08\x81\0\0\0\0";

    fn row(values: &[Option<&[u8]>]) -> Vec<u8> {
        let mut bytes = Vec::new();
        for value in values {
            match value {
                Some(value) => write_text(value, &mut bytes),
                None => bytes.push(0xfb),
            }
        }
        bytes
    }

    fn push_all(payloads: &[&[u8]]) -> Result<Progress, MysqlError> {
        let mut results = TextResults::default();
        for (position, payload) in payloads.iter().enumerate() {
            let progress = results.push(payload)?;
            if progress != Progress::More {
                assert_eq!(position + 1, payloads.len(), "{progress:?} before the end");
                return Ok(progress);
            }
        }
        Ok(Progress::More)
    }

    fn done(columns: usize, row: Option<&[Option<&[u8]>]>) -> Result<Progress, MysqlError> {
        let first_row = row.map(|row| row.iter().map(|value| value.map(<[u8]>::to_vec)).collect());
        Ok(Progress::Done(Outcome { columns, first_row, is_in_transaction: false }))
    }

    #[test]
    fn the_first_row_of_the_first_result_counts() {
        let (one, two, null) = (row(&[Some(b"42")]), row(&[Some(b"1"), None]), row(&[None]));
        let odd: &[u8] = b"\xfethese are no lengths at all";
        let rows: [(&str, &[&[u8]], _); 9] = [
            ("a number", &[b"\x01", COLUMN, END, &one, END], done(1, Some(&[Some(b"42")]))),
            ("further rows", &[b"\x01", COLUMN, END, &one, &null, odd, END], done(1, Some(&[Some(b"42")]))),
            ("NULL", &[b"\x01", COLUMN, END, &null, END], done(1, Some(&[None]))),
            ("no row", &[b"\x01", COLUMN, END, END], done(1, None)),
            ("two columns", &[b"\x02", COLUMN, COLUMN, END, &two, END], done(2, Some(&[Some(b"1"), None]))),
            ("no SELECT", &[OK], done(0, None)),
            ("after a statement", &[OK_WITH_MORE, b"\x01", COLUMN, END, &one, END], done(1, Some(&[Some(b"42")]))),
            ("of a procedure", &[b"\x01", COLUMN, END, &one, END_WITH_MORE, OK], done(1, Some(&[Some(b"42")]))),
            ("two results", &[b"\x01", COLUMN, END, END_WITH_MORE, b"\x01", COLUMN, END, &one, END], done(1, None)),
        ];
        for (name, payloads, expected) in rows {
            assert_eq!(push_all(payloads), expected, "{name}");
        }
    }

    #[test]
    fn what_is_no_result_is_an_error() {
        let short = [&row(&[Some(b"42")])[..], b"x"].concat();
        let rows: [(&str, &[&[u8]]); 9] = [
            ("nothing", &[b""]),
            ("a file is asked for", &[b"\xfb/etc/passwd"]),
            ("too many columns", &[b"\xfd\xff\xff\xff"]),
            ("more than a number", &[b"\x01\x01"]),
            ("no column", &[b"\x01", b"\x03abc"]),
            ("an end too early", &[b"\x01", END]),
            ("an end too late", &[b"\x01", COLUMN, COLUMN]),
            ("a row that is longer", &[b"\x01", COLUMN, END, &short]),
            ("half an end", &[b"\x01", COLUMN, END, b"\xfe\0"]),
        ];
        for (name, payloads) in rows {
            assert!(push_all(payloads).is_err(), "{name}: {:?}", push_all(payloads));
        }
    }

    #[test]
    fn an_error_may_come_at_any_time() {
        let error: &[u8] = b"\xff\x7a\x04#42S02Table 'x' doesn't exist";
        for before in [&[][..], &[b"\x01".as_slice()], &[b"\x01", COLUMN, END], &[OK_WITH_MORE]] {
            let all = [before, &[error]].concat();
            assert!(matches!(push_all(&all), Ok(Progress::Refused(ServerError { code: 1146, .. }))), "{before:?}");
        }
    }

    #[test]
    fn a_transaction_that_stays_open_is_reported() {
        let Ok(Progress::Done(outcome)) = push_all(&[&[0, 0, 0, 1, 0, 0, 0]]) else { panic!("it is done") };
        assert!(outcome.is_in_transaction);
    }

    proptest! {
        #[test]
        fn results_are_read_as_they_were_written(values in vec(proptest::option::of(any::<Vec<u8>>()), 1..6), rows in 1..4) {
            let values: Vec<Option<&[u8]>> = values.iter().map(|value| value.as_deref()).collect();
            let mut number = Vec::new();
            write_integer(values.len() as u64, &mut number);
            let row = row(&values);
            // A first text of 16 MiB would begin like an end; nothing that long is made here.
            let mut payloads = vec![number.as_slice()];
            payloads.extend(values.iter().map(|_| COLUMN));
            payloads.push(END);
            payloads.extend((0..rows).map(|_| row.as_slice()));
            payloads.push(END);
            prop_assert_eq!(push_all(&payloads), done(values.len(), Some(&values)));
        }

        #[test]
        fn no_payloads_make_it_panic(payloads in vec(prop_oneof![any::<Vec<u8>>(), Just(COLUMN.to_vec()), Just(END.to_vec()), Just(vec![1])], 0..8)) {
            let mut results = TextResults::default();
            for payload in payloads {
                if results.push(&payload).is_err() {
                    break;
                }
            }
        }
    }
}
