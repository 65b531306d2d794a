//! The calls to a scaler, and their diagnostics.

use super::calls::Transcript;
use super::diagnose::Diagnostic;

pub(super) struct Report {
    pub(super) endpoint: String,
    pub(super) object: String,
    pub(super) transcript: Transcript,
    pub(super) diagnostics: Vec<Diagnostic>,
}
