//! KEDA's own CRDs and contracts, from the source it publishes, compared with ours.

use kedge_api::crd;
use kedge_test_cluster::keda::released_crds;
use kedge_test_cluster::tools;
use kedge_tests::{descriptors, schema};

#[test]
fn our_crds_equal_kedas_in_all_but_descriptions() {
    let theirs = released_crds().unwrap();
    let ours = crd::all();
    assert_eq!(ours.len(), theirs.len());
    for (ours, theirs) in ours.iter().zip(&theirs) {
        let mut ours = serde_json::to_value(&ours.spec).unwrap();
        let mut theirs = theirs["spec"].clone();
        for spec in [&mut ours, &mut theirs] {
            let schema = &mut spec["versions"][0]["schema"]["openAPIV3Schema"];
            *schema = schema::without_descriptions(schema);
        }
        let differences = schema::differences(&ours, &theirs);
        assert!(differences.is_empty(), "{}: {differences:#?}", theirs["names"]["plural"]);
    }
}

#[test]
fn our_proto_is_kedas_on_the_wire() {
    let folder = tools::keda_source().unwrap().join("pkg/scalers/externalscaler");
    let compiler = protox::Compiler::new([&folder]).and_then(|mut compiler| {
        compiler.open_file("externalscaler.proto")?;
        Ok(compiler.encode_file_descriptor_set())
    });
    let [ours, theirs] = [kedge_proto::DESCRIPTORS, &compiler.unwrap()].map(descriptors::decode);
    assert_eq!(descriptors::on_the_wire(ours), descriptors::on_the_wire(theirs));
}
