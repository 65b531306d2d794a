//! The remedies of failed calls.

use kedge_scalers::ReadError;

pub(super) fn for_error(error: &ReadError) -> &'static str {
    match error {
        ReadError::Timeout { .. } => {
            "answer at once from what is known, or with an error: each call carries its deadline as grpc-timeout"
        }
        ReadError::Connect { .. } => {
            "start the scaler and check the address; if it speaks TLS, add --tls; it must be a gRPC server, so HTTP/2"
        }
        ReadError::Untrusted { .. } => {
            "pass the CA of its certificate with --ca, and a client certificate with --cert and --key if it requires one; its \
             certificate must name the host of the address; if it does not speak TLS, omit these flags"
        }
        ReadError::Rpc { code: "UNIMPLEMENTED", .. } => {
            "serve externalscaler.ExternalScaler: package, service and method must be named as in \
             proto/externalscaler.proto"
        }
        _ => "see the scaler's own log; the words are its own",
    }
}

pub(super) fn is_unimplemented(error: &ReadError) -> bool {
    matches!(error, ReadError::Rpc { code: "UNIMPLEMENTED", .. })
}
