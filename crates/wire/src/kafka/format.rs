//! How Kafka writes values: big-endian numbers; texts and arrays with their length first, which is −1 where there is none.

use super::error_code::ErrorCode;

/// A value that can be written and read.
pub trait WireFormat: Sized {
    fn write(&self, to: &mut Vec<u8>);
    fn read(from: &mut Body<'_>) -> Result<Self, KafkaError>;
}

/// Why bytes are no message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum KafkaError {
    #[error("a length in it is not one of Kafka's protocol")]
    Length,
    #[error("it is larger than a response of its kind can be")]
    TooLarge,
    #[error("it is shorter than it says")]
    TooShort,
    #[error("there is more in it than was asked for")]
    TooLong,
    #[error("a text in it is not UTF-8")]
    Text,
    #[error("it belongs to another request")]
    Correlation,
}

/// What is left to read of a message.
#[derive(Clone, Copy, Debug)]
pub struct Body<'a>(&'a [u8]);

impl<'a> Body<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn take(&mut self, length: usize) -> Result<&'a [u8], KafkaError> {
        let (taken, rest) = self.0.split_at_checked(length).ok_or(KafkaError::TooShort)?;
        self.0 = rest;
        Ok(taken)
    }
}

fn parse_length(length: i32) -> Result<Option<usize>, KafkaError> {
    match length {
        -1 => Ok(None),
        length => usize::try_from(length).map(Some).map_err(|_| KafkaError::Length),
    }
}

macro_rules! numbers {
    ($($type:ty),*) => { $(
        impl WireFormat for $type {
            fn write(&self, to: &mut Vec<u8>) {
                to.extend_from_slice(&self.to_be_bytes());
            }
            fn read(from: &mut Body<'_>) -> Result<Self, KafkaError> {
                let (bytes, rest) = from.0.split_first_chunk().ok_or(KafkaError::TooShort)?;
                from.0 = rest;
                Ok(Self::from_be_bytes(*bytes))
            }
        }
    )* };
}

numbers!(i8, i16, i32, i64);

impl WireFormat for bool {
    fn write(&self, to: &mut Vec<u8>) {
        to.push(u8::from(*self));
    }

    fn read(from: &mut Body<'_>) -> Result<Self, KafkaError> {
        Ok(i8::read(from)? != 0)
    }
}

impl WireFormat for ErrorCode {
    fn write(&self, to: &mut Vec<u8>) {
        self.0.write(to);
    }

    fn read(from: &mut Body<'_>) -> Result<Self, KafkaError> {
        i16::read(from).map(Self)
    }
}

impl<A: WireFormat, B: WireFormat> WireFormat for (A, B) {
    fn write(&self, to: &mut Vec<u8>) {
        self.0.write(to);
        self.1.write(to);
    }

    fn read(from: &mut Body<'_>) -> Result<Self, KafkaError> {
        Ok((A::read(from)?, B::read(from)?))
    }
}

impl WireFormat for Option<String> {
    fn write(&self, to: &mut Vec<u8>) {
        match self {
            None => (-1_i16).write(to),
            Some(text) => text.write(to),
        }
    }

    fn read(from: &mut Body<'_>) -> Result<Self, KafkaError> {
        let Some(length) = parse_length(i16::read(from)?.into())? else { return Ok(None) };
        let text = std::str::from_utf8(from.take(length)?).map_err(|_| KafkaError::Text)?;
        Ok(Some(text.to_owned()))
    }
}

impl WireFormat for String {
    fn write(&self, to: &mut Vec<u8>) {
        // No name may be longer; what is cut is refused by the broker, because the request is longer than it says.
        i16::try_from(self.len()).unwrap_or(i16::MAX).write(to);
        to.extend_from_slice(self.as_bytes());
    }

    fn read(from: &mut Body<'_>) -> Result<Self, KafkaError> {
        Option::<Self>::read(from)?.ok_or(KafkaError::Length)
    }
}

/// Bytes without a meaning here.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Bytes(pub Vec<u8>);

impl WireFormat for Bytes {
    fn write(&self, to: &mut Vec<u8>) {
        i32::try_from(self.0.len()).unwrap_or(i32::MAX).write(to);
        to.extend_from_slice(&self.0);
    }

    fn read(from: &mut Body<'_>) -> Result<Self, KafkaError> {
        let length = parse_length(i32::read(from)?)?.unwrap_or(0);
        Ok(Self(from.take(length)?.to_vec()))
    }
}

impl<T: WireFormat> WireFormat for Option<Vec<T>> {
    fn write(&self, to: &mut Vec<u8>) {
        match self {
            None => (-1_i32).write(to),
            Some(items) => items.write(to),
        }
    }

    fn read(from: &mut Body<'_>) -> Result<Self, KafkaError> {
        let Some(length) = parse_length(i32::read(from)?)? else { return Ok(None) };
        // Every item has a byte at least, so that a length alone costs nothing.
        if length > from.0.len() {
            return Err(KafkaError::TooShort);
        }
        let mut items = Vec::new();
        for _ in 0..length {
            items.push(T::read(from)?);
        }
        Ok(Some(items))
    }
}

impl<T: WireFormat> WireFormat for Vec<T> {
    fn write(&self, to: &mut Vec<u8>) {
        i32::try_from(self.len()).unwrap_or(i32::MAX).write(to);
        for item in self {
            item.write(to);
        }
    }

    fn read(from: &mut Body<'_>) -> Result<Self, KafkaError> {
        Option::<Self>::read(from)?.ok_or(KafkaError::Length)
    }
}

/// Defines messages by their fields, in the order in which they are written. One with `= "Name" KEY VERSION => Response` is a request.
#[macro_export]
macro_rules! kafka_messages {
    ($(
        $(#[$doc:meta])*
        $message:ident $(= $api:literal $key:literal $version:literal => $response:ty)? {
            $($(#[$field_doc:meta])* $field:ident: $type:ty),* $(,)?
        }
    )*) => { $(
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub struct $message { $($(#[$field_doc])* pub $field: $type),* }

        impl $crate::kafka::WireFormat for $message {
            fn write(&self, _to: &mut Vec<u8>) {
                $($crate::kafka::WireFormat::write(&self.$field, _to);)*
            }
            fn read(_from: &mut $crate::kafka::Body<'_>) -> Result<Self, $crate::kafka::KafkaError> {
                Ok(Self { $($field: $crate::kafka::WireFormat::read(_from)?),* })
            }
        }

        $(impl $crate::kafka::Request for $message {
            type Response = $response;
            const API: $crate::kafka::Api = $crate::kafka::Api { name: $api, key: $key, version: $version };
        })?
    )* };
}
