//! What is served below an object, apart from its parts: `scale` and `token`.

pub(crate) mod scale;
pub(crate) mod token;
