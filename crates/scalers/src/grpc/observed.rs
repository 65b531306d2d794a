//! Calls that are reported for telemetry.

use tokio::time::Instant;
use tonic::Code;

use crate::observer::{self, GrpcCall, GrpcEvent};

/// A call under way. One that is dropped before its end was given up.
pub(super) struct ObservedCall {
    call: GrpcCall,
    started: Instant,
    ended: Option<Code>,
}

impl ObservedCall {
    pub(super) fn start(call: GrpcCall) -> Self {
        observer::report(|observer| observer.grpc(call, GrpcEvent::Started));
        Self { call, started: Instant::now(), ended: None }
    }

    pub(super) fn received(&self) {
        observer::report(|observer| observer.grpc(self.call, GrpcEvent::Received));
    }

    pub(super) fn end(mut self, code: Code) {
        self.ended = Some(code);
    }
}

impl Drop for ObservedCall {
    fn drop(&mut self) {
        let event =
            GrpcEvent::Ended { code: name(self.ended.unwrap_or(Code::Cancelled)), took: self.started.elapsed() };
        observer::report(|observer| observer.grpc(self.call, event));
    }
}

/// Go's name of a code.
fn name(code: Code) -> &'static str {
    match code {
        Code::Ok => "OK",
        Code::Cancelled => "Canceled",
        Code::Unknown => "Unknown",
        Code::InvalidArgument => "InvalidArgument",
        Code::DeadlineExceeded => "DeadlineExceeded",
        Code::NotFound => "NotFound",
        Code::AlreadyExists => "AlreadyExists",
        Code::PermissionDenied => "PermissionDenied",
        Code::ResourceExhausted => "ResourceExhausted",
        Code::FailedPrecondition => "FailedPrecondition",
        Code::Aborted => "Aborted",
        Code::OutOfRange => "OutOfRange",
        Code::Unimplemented => "Unimplemented",
        Code::Internal => "Internal",
        Code::Unavailable => "Unavailable",
        Code::DataLoss => "DataLoss",
        Code::Unauthenticated => "Unauthenticated",
    }
}
