//! How AMQP writes values: big-endian numbers, texts with their length first, and tables of fields, whose values say what they are.

use std::fmt;

/// How deep tables and lists may be nested.
const DEPTH_MAX: usize = 16;

/// Why bytes are not what was expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AmqpError {
    #[error("it is not AMQP: a frame begins with byte {0:#04x}")]
    FrameType(u8),
    #[error("the server speaks AMQP {major}-{minor}-{revision}, and not 0-9-1")]
    Version { major: u8, minor: u8, revision: u8 },
    #[error("a frame in it is too large")]
    TooLarge,
    #[error("a frame in it does not end where it says")]
    FrameEnd,
    #[error("a heartbeat in it is not one")]
    Heartbeat,
    #[error("it is shorter than it says")]
    TooShort,
    #[error("there is more in it than belongs there")]
    TooLong,
    #[error("it is nested too deeply")]
    TooDeep,
    #[error("a field in it has the unknown type {0:#04x}")]
    FieldType(u8),
    #[error("it is method {class}.{method}, which was not asked for")]
    Method { class: u16, method: u16 },
}

/// A text of at most 255 bytes: names, and explanations, which servers may cut in the middle of a character.
#[derive(Clone, Default, PartialEq, Eq, Hash)]
pub struct ShortText(Vec<u8>);

impl ShortText {
    pub const BYTES_MAX: usize = u8::MAX as usize;

    /// The text, unless it is too long.
    pub fn new(text: &str) -> Option<Self> {
        (text.len() <= Self::BYTES_MAX).then(|| Self(text.as_bytes().to_vec()))
    }

    /// A text that is known to be short.
    pub(super) fn literal(text: &'static str) -> Self {
        Self::new(text).expect("a literal is short")
    }
}

impl fmt::Display for ShortText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&String::from_utf8_lossy(&self.0))
    }
}

impl fmt::Debug for ShortText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&String::from_utf8_lossy(&self.0), f)
    }
}

/// A text of any length.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct LongText(pub Vec<u8>);

impl LongText {
    pub fn new(text: &str) -> Self {
        Self(text.as_bytes().to_vec())
    }

    /// The words in it, which blanks separate.
    pub fn words(&self) -> impl Iterator<Item = &[u8]> {
        self.0.split(|byte| *byte == b' ')
    }
}

impl fmt::Debug for LongText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&String::from_utf8_lossy(&self.0), f)
    }
}

/// Names and their values.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table(pub Vec<(ShortText, Value)>);

/// The value of a field, as RabbitMQ writes them.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Void,
    Bool(bool),
    I8(i8),
    U8(u8),
    I16(i16),
    U16(u16),
    I32(i32),
    U32(u32),
    I64(i64),
    F32(f32),
    F64(f64),
    Decimal { scale: u8, value: i32 },
    Time(u64),
    Text(LongText),
    Bytes(LongText),
    List(Vec<Self>),
    Table(Table),
}

/// What is left to read of a method.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arguments<'a>(&'a [u8]);

macro_rules! numbers {
    ($($name:ident: $type:ty),*) => { $(
        pub(super) fn $name(&mut self) -> Result<$type, AmqpError> {
            let (bytes, rest) = self.0.split_first_chunk().ok_or(AmqpError::TooShort)?;
            self.0 = rest;
            Ok(<$type>::from_be_bytes(*bytes))
        }
    )* };
}

impl<'a> Arguments<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    numbers!(u8: u8, u16: u16, u32: u32, u64: u64, i8: i8, i16: i16, i32: i32, i64: i64, f32: f32, f64: f64);

    fn take(&mut self, length: usize) -> Result<&'a [u8], AmqpError> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(AmqpError::TooShort)?;
        self.0 = rest;
        Ok(taken)
    }

    pub(super) fn end(self) -> Result<(), AmqpError> {
        if self.0.is_empty() { Ok(()) } else { Err(AmqpError::TooLong) }
    }

    pub(super) fn short_text(&mut self) -> Result<ShortText, AmqpError> {
        let length = self.u8()?;
        Ok(ShortText(self.take(length.into())?.to_vec()))
    }

    pub(super) fn long_bytes(&mut self) -> Result<&'a [u8], AmqpError> {
        let length = self.u32()?;
        self.take(usize::try_from(length).map_err(|_| AmqpError::TooShort)?)
    }

    pub(super) fn long_text(&mut self) -> Result<LongText, AmqpError> {
        Ok(LongText(self.long_bytes()?.to_vec()))
    }

    pub(super) fn table(&mut self) -> Result<Table, AmqpError> {
        self.table_at(0)
    }

    fn table_at(&mut self, depth: usize) -> Result<Table, AmqpError> {
        let mut inside = self.inside(depth)?;
        let mut fields = Vec::new();
        while !inside.0.is_empty() {
            fields.push((inside.short_text()?, inside.value(depth + 1)?));
        }
        Ok(Table(fields))
    }

    fn list_at(&mut self, depth: usize) -> Result<Vec<Value>, AmqpError> {
        let mut inside = self.inside(depth)?;
        let mut items = Vec::new();
        while !inside.0.is_empty() {
            items.push(inside.value(depth + 1)?);
        }
        Ok(items)
    }

    fn inside(&mut self, depth: usize) -> Result<Self, AmqpError> {
        if depth > DEPTH_MAX {
            return Err(AmqpError::TooDeep);
        }
        self.long_bytes().map(Self)
    }

    /// RabbitMQ's letters, which differ from those of the specification.
    fn value(&mut self, depth: usize) -> Result<Value, AmqpError> {
        Ok(match self.u8()? {
            b'V' => Value::Void,
            b't' => Value::Bool(self.u8()? != 0),
            b'b' => Value::I8(self.i8()?),
            b'B' => Value::U8(self.u8()?),
            b's' => Value::I16(self.i16()?),
            b'u' => Value::U16(self.u16()?),
            b'I' => Value::I32(self.i32()?),
            b'i' => Value::U32(self.u32()?),
            b'l' => Value::I64(self.i64()?),
            b'f' => Value::F32(self.f32()?),
            b'd' => Value::F64(self.f64()?),
            b'D' => Value::Decimal { scale: self.u8()?, value: self.i32()? },
            b'T' => Value::Time(self.u64()?),
            b'S' => Value::Text(self.long_text()?),
            b'x' => Value::Bytes(self.long_text()?),
            b'A' => Value::List(self.list_at(depth)?),
            b'F' => Value::Table(self.table_at(depth)?),
            unknown => return Err(AmqpError::FieldType(unknown)),
        })
    }
}

/// What is written of a method.
#[derive(Debug, Default)]
pub(super) struct Written(pub(super) Vec<u8>);

impl Written {
    pub(super) fn add(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }

    pub(super) fn short_text(self, text: &ShortText) -> Self {
        let length = u8::try_from(text.0.len()).expect("no short text is longer");
        self.add(&[length]).add(&text.0)
    }

    pub(super) fn long_bytes(self, bytes: &[u8]) -> Self {
        // What is cut is refused by the server, because the method is longer than it says.
        self.add(&u32::try_from(bytes.len()).unwrap_or(u32::MAX).to_be_bytes()).add(bytes)
    }

    pub(super) fn table(self, table: &Table) -> Self {
        let fields = table.0.iter().fold(Self::default(), |to, (name, value)| to.short_text(name).value(value));
        self.long_bytes(&fields.0)
    }

    fn value(self, value: &Value) -> Self {
        match value {
            Value::Void => self.add(b"V"),
            Value::Bool(value) => self.add(&[b't', u8::from(*value)]),
            Value::I8(value) => self.add(b"b").add(&value.to_be_bytes()),
            Value::U8(value) => self.add(b"B").add(&value.to_be_bytes()),
            Value::I16(value) => self.add(b"s").add(&value.to_be_bytes()),
            Value::U16(value) => self.add(b"u").add(&value.to_be_bytes()),
            Value::I32(value) => self.add(b"I").add(&value.to_be_bytes()),
            Value::U32(value) => self.add(b"i").add(&value.to_be_bytes()),
            Value::I64(value) => self.add(b"l").add(&value.to_be_bytes()),
            Value::F32(value) => self.add(b"f").add(&value.to_be_bytes()),
            Value::F64(value) => self.add(b"d").add(&value.to_be_bytes()),
            Value::Decimal { scale, value } => self.add(&[b'D', *scale]).add(&value.to_be_bytes()),
            Value::Time(value) => self.add(b"T").add(&value.to_be_bytes()),
            Value::Text(text) => self.add(b"S").long_bytes(&text.0),
            Value::Bytes(bytes) => self.add(b"x").long_bytes(&bytes.0),
            Value::List(items) => self.add(b"A").long_bytes(&items.iter().fold(Self::default(), Self::value).0),
            Value::Table(table) => self.add(b"F").table(table),
        }
    }
}
