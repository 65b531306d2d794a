//! The keys, certificates and kubeconfigs of one cluster. They live as long as its folder and mean nothing elsewhere.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::Context;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair, KeyUsagePurpose,
};
use serde_json::json;

/// The folder that holds them.
#[derive(Debug)]
pub(crate) struct Certificates {
    folder: PathBuf,
}

/// A pair of files.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

/// A user with a client certificate.
struct Person {
    file: &'static str,
    name: &'static str,
    group: Option<&'static str>,
}

const ADMIN: Person = Person { file: "admin", name: "admin", group: Some("system:masters") };
const CONTROLLER_MANAGER: Person =
    Person { file: "kube-controller-manager", name: "system:kube-controller-manager", group: None };
const SCHEDULER: Person = Person { file: "kube-scheduler", name: "system:kube-scheduler", group: None };
/// kwok plays kubelets, and may do what it likes.
const KWOK: Person = Person { file: "kwok", name: "kwok", group: Some("system:masters") };
/// The API server itself, when it calls an aggregated API; its flags have the name.
const FRONT_PROXY: Person = Person { file: "front-proxy", name: "front-proxy", group: None };

impl Certificates {
    /// Makes all of them, and kubeconfigs for the API server at this port.
    pub(crate) fn create(folder: &Path, apiserver_port: u16) -> anyhow::Result<Self> {
        let certificates = Self { folder: folder.join("pki") };
        fs::create_dir_all(&certificates.folder)
            .with_context(|| format!("cannot create the folder {}", certificates.folder.display()))?;
        let ca = certificates.create_ca("ca")?;
        let front_proxy_ca = certificates.create_ca("front-proxy-ca")?;
        certificates.create_server(&ca)?;
        certificates.create_person(&front_proxy_ca, &FRONT_PROXY)?;
        let service_accounts = KeyPair::generate()?;
        certificates.write("service-accounts.key", &service_accounts.serialize_pem())?;
        certificates.write("service-accounts.pub", &service_accounts.public_key_pem())?;
        for person in [ADMIN, CONTROLLER_MANAGER, SCHEDULER, KWOK] {
            certificates.create_person(&ca, &person)?;
            certificates.write_kubeconfig(&person, apiserver_port)?;
        }
        Ok(certificates)
    }

    /// Signs clients and servers of the cluster.
    pub(crate) fn ca_path(&self) -> PathBuf {
        self.folder.join("ca.crt")
    }

    /// Signs the API server as a client of aggregated APIs.
    pub(crate) fn front_proxy_ca_path(&self) -> PathBuf {
        self.folder.join("front-proxy-ca.crt")
    }

    /// What the API server shows to aggregated APIs.
    pub(crate) fn front_proxy(&self) -> Pair {
        self.pair(FRONT_PROXY.file)
    }

    /// What the servers of the cluster show to their clients.
    pub(crate) fn server(&self) -> Pair {
        self.pair("server")
    }

    /// Signs the tokens of service accounts.
    pub(crate) fn service_accounts_key(&self) -> PathBuf {
        self.folder.join("service-accounts.key")
    }

    /// Checks the tokens of service accounts.
    pub(crate) fn service_accounts_public_key(&self) -> PathBuf {
        self.folder.join("service-accounts.pub")
    }

    pub(crate) fn admin_kubeconfig(&self) -> PathBuf {
        self.kubeconfig(&ADMIN)
    }

    pub(crate) fn controller_manager_kubeconfig(&self) -> PathBuf {
        self.kubeconfig(&CONTROLLER_MANAGER)
    }

    pub(crate) fn scheduler_kubeconfig(&self) -> PathBuf {
        self.kubeconfig(&SCHEDULER)
    }

    pub(crate) fn kwok_kubeconfig(&self) -> PathBuf {
        self.kubeconfig(&KWOK)
    }

    fn pair(&self, file: &str) -> Pair {
        Pair {
            certificate: self.folder.join(file).with_extension("crt"),
            key: self.folder.join(file).with_extension("key"),
        }
    }

    fn kubeconfig(&self, person: &Person) -> PathBuf {
        self.folder.join(person.file).with_extension("kubeconfig")
    }

    fn create_ca(&self, file: &str) -> anyhow::Result<Issuer<'static, KeyPair>> {
        let mut params = CertificateParams::new([])?;
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        params.distinguished_name.push(DnType::CommonName, file);
        let key = KeyPair::generate()?;
        self.write(&format!("{file}.crt"), &params.self_signed(&key)?.pem())?;
        Ok(Issuer::new(params, key))
    }

    fn create_server(&self, ca: &Issuer<'static, KeyPair>) -> anyhow::Result<()> {
        // 10.0.0.1 is the API server's own Service in the range that `components` gives it.
        let names =
            ["localhost", "127.0.0.1", "10.0.0.1", "kubernetes", "kubernetes.default", "kubernetes.default.svc"];
        let mut params = CertificateParams::new(names.map(String::from))?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        params.distinguished_name.push(DnType::CommonName, "server");
        self.sign(ca, &params, "server")
    }

    fn create_person(&self, ca: &Issuer<'static, KeyPair>, person: &Person) -> anyhow::Result<()> {
        let mut params = CertificateParams::new([])?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        params.distinguished_name.push(DnType::CommonName, person.name);
        if let Some(group) = person.group {
            params.distinguished_name.push(DnType::OrganizationName, group);
        }
        self.sign(ca, &params, person.file)
    }

    fn sign(&self, ca: &Issuer<'static, KeyPair>, params: &CertificateParams, file: &str) -> anyhow::Result<()> {
        let key = KeyPair::generate()?;
        self.write(&format!("{file}.crt"), &params.signed_by(&key, ca)?.pem())?;
        self.write(&format!("{file}.key"), &key.serialize_pem())
    }

    fn write_kubeconfig(&self, person: &Person, apiserver_port: u16) -> anyhow::Result<()> {
        let pair = self.pair(person.file);
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{ "name": "kedge", "cluster": {
                "server": format!("https://127.0.0.1:{apiserver_port}"),
                "certificate-authority": self.ca_path(),
            }}],
            "users": [{ "name": person.name, "user": { "client-certificate": pair.certificate, "client-key": pair.key }}],
            "contexts": [{ "name": "kedge", "context": { "cluster": "kedge", "user": person.name, "namespace": "default" }}],
            "current-context": "kedge",
        });
        self.write(&format!("{}.kubeconfig", person.file), &format!("{config:#}\n"))
    }

    fn write(&self, file: &str, text: &str) -> anyhow::Result<()> {
        let path = self.folder.join(file);
        fs::write(&path, text).with_context(|| format!("cannot write {}", path.display()))
    }
}
