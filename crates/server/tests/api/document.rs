//! The description of the API is a snapshot: a change of it is seen.

#[test]
fn the_description_is_as_it_was_reviewed() {
    let document = server::openapi_document();
    insta::assert_json_snapshot!("openapi", document);
}

#[test]
fn every_operation_has_a_name_of_its_own() {
    let document = server::openapi_document();
    let mut names = Vec::new();
    for operations in document["paths"].as_object().unwrap().values() {
        for operation in operations.as_object().unwrap().values() {
            names.push(operation["operationId"].as_str().unwrap().to_owned());
        }
    }
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}

#[test]
fn every_reference_leads_somewhere() {
    let document = server::openapi_document();
    let text = document.to_string();
    for part in text.split("\"$ref\":\"#").skip(1) {
        let pointer = part.split('"').next().unwrap();
        assert!(document.pointer(pointer).is_some(), "{pointer}");
    }
}
