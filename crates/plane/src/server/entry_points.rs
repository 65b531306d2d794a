//! How a request enters a plane: as a client's, as an HTTP request, or as a call that is parsed already.

use http::{Request, Response};
use kube::client::Body;
use serde_json::Value;

use super::{dispatch, transport};
use crate::api::error::ApiError;
use crate::api::request::{AsOf, Call, Verb};
use crate::api::response::Projection;
use crate::plane::{Plane, Warnings};
use crate::server::response::ResponseBody;

impl Plane {
    /// A client that acts as a user.
    pub fn client(&self, user: &str) -> kube::Client {
        kube::Client::new(transport::Transport::new(self.clone(), user), "default")
    }

    /// Handles one HTTP request. The body of a watch is a stream, one frame for each event.
    pub async fn handle(&self, user: &str, request: Request<Body>) -> Response<Body> {
        transport::with_clients_body(self.serve(user, request).await).await
    }

    /// The same, with this crate's own type of body.
    pub async fn serve(&self, user: &str, request: Request<Body>) -> Response<ResponseBody> {
        super::http::serve(self, user, request).await
    }

    /// Handles a call that is parsed already; everything but watches.
    pub async fn call(&self, call: Call) -> Result<Value, ApiError> {
        if call.verb == Verb::Watch {
            return Err(ApiError::bad_request("a watch needs a connection"));
        }
        let answer = dispatch::handle(self, &call, AsOf::default(), &Warnings::default()).await;
        let code = answer.as_ref().map_or_else(|error| error.code, |answer| answer.code);
        (self.options().observe)(&call, code);
        Ok(answer?.into_value(Projection::Full))
    }
}
