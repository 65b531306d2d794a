//! Where the decoder is: a chain of steps, of which a text is made only where there is something to tell.

/// One step, and those before it.
#[derive(Debug)]
pub(super) enum Path<'a> {
    Root,
    /// A field of a struct, perhaps one that Go embeds by another struct.
    Field {
        before: &'a Path<'a>,
        within: &'static str,
        via: Option<&'static str>,
        name: &'static str,
    },
    Index {
        before: &'a Path<'a>,
        index: usize,
    },
    Key {
        before: &'a Path<'a>,
        key: &'a str,
    },
}

impl Path<'_> {
    /// The path of something within: `spec.template.spec.containers[0].foo`.
    pub(super) fn json_of(&self, name: &str) -> String {
        let before = self.json();
        if before.is_empty() { name.to_owned() } else { format!("{before}.{name}") }
    }

    fn json(&self) -> String {
        match self {
            Self::Root => String::new(),
            Self::Field { before, name, .. } => before.json_of(name),
            Self::Index { before, index } => format!("{}[{index}]", before.json()),
            Self::Key { before, key } => before.json_of(key),
        }
    }

    /// As Go tells it: `struct field Container.spec.template.spec.containers.name`, or `value` outside of structs.
    pub(super) fn go(&self) -> String {
        match self {
            Self::Root => "value".to_owned(),
            Self::Index { before, .. } | Self::Key { before, .. } => before.go(),
            Self::Field { within, .. } => format!("struct field {within}.{}", self.go_fields().join(".")),
        }
    }

    fn go_fields(&self) -> Vec<&str> {
        match self {
            Self::Root => Vec::new(),
            Self::Index { before, .. } | Self::Key { before, .. } => before.go_fields(),
            Self::Field { before, via, name, .. } => {
                let mut fields = before.go_fields();
                fields.extend(*via);
                fields.push(name);
                fields
            }
        }
    }
}
