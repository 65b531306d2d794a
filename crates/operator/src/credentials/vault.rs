//! HashiCorp Vault.

use kedge_api::authentication::HashiCorpVault;
use kedge_core::credentials::Problem;
use kedge_core::secret::Secret;

use super::Resolution;
use super::resolve::{Found, Holder};

/// What the operator's environment says of Vault.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// `VAULT_TOKEN`: wins over the token of an authentication object.
    pub token: Option<Secret>,
}

/// The way to Vault servers.
#[derive(Clone, Debug, Default)]
pub struct Vault;

impl Resolution<'_> {
    pub(super) async fn take_vault(&mut self, holder: &Holder, _vault: &HashiCorpVault, found: &mut Found) {
        found.note(Problem::wrong(holder.place("hashiCorpVault"), "is not supported yet", "use secretTargetRef"));
    }
}
