//! The program of the image: static, and able to run on a read-only file system that holds nothing else.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use kedge_test_cluster::Cluster;
use kedge_test_cluster::wait::{DEADLINE, wait_for};
use kedge_tests::files;
use serde_json::{Value, json};

/// The user of the image.
const USER: &str = "65532:65532";

/// The program, built as the Dockerfile builds it, but not optimized: that takes ten minutes more.
fn built() -> PathBuf {
    let program = files::workspace().join("target/image/kedge-dev");
    let mut build = Command::new(files::workspace().join("config/image/build"));
    let status = build.arg(&program).arg("dev").current_dir(files::workspace()).status().expect("a shell");
    assert!(status.success(), "config/image/build fails");
    program
}

/// The types of the entries in the program header of a 64-bit ELF file.
fn segments(program: &[u8]) -> Vec<u32> {
    assert_eq!(&program[..5], b"\x7fELF\x02");
    let number = |at: usize, length: usize| {
        program[at..at + length].iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte)) as usize
    };
    let (start, size, count) = (number(32, 8), number(54, 2), number(56, 2));
    (0..count).map(|index| number(start + index * size, 4) as u32).collect()
}

/// Starts the program as another user, with nothing but this folder as its file system, which it cannot write.
fn jailed(root: &Path, arguments: &[&str]) -> Child {
    let script = "root=$1 && shift && mount --bind \"$root\" \"$root\" && mount -o remount,bind,ro \"$root\" && \
                  exec chroot --userspec=\"$JAILED\" --groups= \"$root\" /kedge \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation=private", "sh", "-c", script, "sh"]).arg(root).args(arguments);
    command
        .env_clear()
        .env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin")
        .env("JAILED", USER)
        .env("POD_NAMESPACE", "default");
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("unshare starts")
}

fn write(path: &Path, text: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
    fs::set_permissions(path, PermissionsExt::from_mode(0o444)).unwrap();
}

/// A file system: the program, and the files that a pod has.
fn root(program: &Path, kubeconfig: &str) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    fs::set_permissions(root.path(), PermissionsExt::from_mode(0o755)).unwrap();
    fs::copy(program, root.path().join("kedge")).unwrap();
    let made = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    write(&root.path().join("certs/tls.crt"), &made.cert.pem());
    write(&root.path().join("certs/tls.key"), &made.signing_key.serialize_pem());
    write(&root.path().join("etc/hosts"), "127.0.0.1 localhost\n");
    write(&root.path().join("kubeconfig"), kubeconfig);
    root
}

/// The administrator's kubeconfig with its files embedded, and with the name of the API server, so that the name is resolved.
fn kubeconfig(path: &Path) -> String {
    let mut config: Value = serde_json::from_str(&files::read(path)).unwrap();
    let server = config["clusters"][0]["cluster"]["server"].as_str().unwrap().replace("127.0.0.1", "localhost");
    config["clusters"][0]["cluster"]["server"] = json!(server);
    embed(&mut config["clusters"][0]["cluster"], &["certificate-authority"]);
    embed(&mut config["users"][0]["user"], &["client-certificate", "client-key"]);
    config.to_string()
}

/// Embeds the files that these fields name.
fn embed(part: &mut Value, fields: &[&str]) {
    for field in fields {
        let path = part[field].take();
        let content = fs::read(path.as_str().unwrap_or_else(|| panic!("{field} names no file"))).unwrap();
        part[format!("{field}-data")] = json!(STANDARD.encode(content));
        part.as_object_mut().unwrap().remove(*field);
    }
}

#[tokio::test]
async fn the_program_of_the_image_needs_nothing_beside_it() {
    let program = built();
    // Without an interpreter (3), no library is loaded.
    let segments = segments(&fs::read(&program).unwrap());
    assert!(segments.contains(&1) && !segments.contains(&3), "{segments:?}");

    // Its own cluster: on a shared one, this operator would reconcile the objects of other tests.
    let cluster = Cluster::builder("image").start().await.unwrap();
    cluster.install_crds(&files::workspace().join("crds")).unwrap();
    let root = root(&program, &kubeconfig(&cluster.kubeconfig()));
    let printed = jailed(root.path(), &["crds"]).wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&printed.stderr).into_owned();
    assert!(printed.status.success(), "this test needs the permission to call chroot: {stderr}");
    assert!(String::from_utf8_lossy(&printed.stdout).contains("name: scaledobjects.keda.sh"));

    let nowhere =
        ["--health-probe-bind-address=0", "--metrics-bind-address=0", "--metrics-api-bind-address=127.0.0.1:0"];
    let arguments =
        [&["operator", "--kubeconfig=/kubeconfig", "--cert-dir=/certs", "--leader-elect"], &nowhere[..]].concat();
    let operator = jailed(root.path(), &arguments);
    let client = cluster.client().await.unwrap();
    let leases: kube::Api<k8s_openapi::api::coordination::v1::Lease> = kube::Api::namespaced(client, "default");
    let led =
        wait_for("the operator is the leader", DEADLINE, async || match leases.get_opt("operator.keda.sh").await {
            Ok(Some(_)) => Ok(()),
            other => Err(format!("{other:?}")),
        });
    let led = led.await;
    let status = files::read(Path::new(&format!("/proc/{}/status", operator.id())));
    assert!(Command::new("kill").arg(operator.id().to_string()).status().unwrap().success());
    let output = operator.wait_with_output().unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr).into_owned();
    led.unwrap_or_else(|error| panic!("{error}: {stderr}"));
    assert!(output.status.success(), "{stderr}");
    assert!(status.contains("Uid:\t65532\t65532\t65532\t65532"), "{status}");
    assert!(status.contains("CapEff:\t0000000000000000"), "{status}");
}
