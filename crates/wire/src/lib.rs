//! Codecs of the protocols that sources speak. They are pure: bytes in, values out. Who connects, signs in and waits is left to the
//! caller.
//!
//! | module | what it holds |
//! |---|---|
//! | [`resp`] | RESP2, which Redis speaks |

pub mod resp;
