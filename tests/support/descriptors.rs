//! Compiled protos, to be compared.

use std::collections::BTreeMap;

use prost::Message;
use prost_types::{DescriptorProto, FileDescriptorProto, FileDescriptorSet};

/// The one file of an encoded descriptor set, without comments.
pub fn decode(bytes: &[u8]) -> FileDescriptorProto {
    let set = FileDescriptorSet::decode(bytes).expect("a descriptor set");
    let [mut file] = <[FileDescriptorProto; 1]>::try_from(set.file).expect("one file");
    file.source_code_info = None;
    file
}

/// What of a file matters on the wire: no options, no order of declarations, no names derived from others.
pub fn on_the_wire(mut file: FileDescriptorProto) -> FileDescriptorProto {
    file.name = None;
    file.options = None;
    for method in file.service.iter_mut().flat_map(|service| &mut service.method) {
        // `{}` after a method leaves empty options behind in some compilers.
        method.options = None;
        method.client_streaming = method.client_streaming.filter(|streams| *streams);
        method.server_streaming = method.server_streaming.filter(|streams| *streams);
    }
    file.message_type.iter_mut().for_each(drop_json_names);
    file.message_type.sort_by(|a, b| a.name.cmp(&b.name));
    for service in &mut file.service {
        service.method.sort_by(|a, b| a.name.cmp(&b.name));
    }
    file
}

fn drop_json_names(message: &mut DescriptorProto) {
    message.field.iter_mut().for_each(|field| field.json_name = None);
    message.field.sort_by_key(|field| field.number);
    message.nested_type.iter_mut().for_each(drop_json_names);
}

/// The methods of the service: request, response, and whether the response is a stream.
pub fn methods(file: &FileDescriptorProto) -> BTreeMap<String, (String, String, bool)> {
    let methods = file.service.iter().flat_map(|service| &service.method);
    let describe = |method: &prost_types::MethodDescriptorProto| {
        let call = (method.input_type().to_owned(), method.output_type().to_owned(), method.server_streaming());
        (method.name().to_owned(), call)
    };
    methods.map(describe).collect()
}
