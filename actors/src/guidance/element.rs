//! Elements with which texts for the model are set apart from each other.

/// The opening of an element.
pub(super) struct Element {
    name: &'static str,
    attributes: String,
}

impl Element {
    /// One without attributes.
    pub(super) fn new(name: &'static str) -> Self {
        Self {
            name,
            attributes: String::new(),
        }
    }

    /// The same with one attribute more.
    pub(super) fn attribute(mut self, name: &str, value: &str) -> Self {
        let value = escaped(value).replace('"', "&quot;");
        self.attributes += &format!(" {name}=\"{value}\"");
        self
    }

    /// The element around a text, each tag on a separate line.
    pub(super) fn around(&self, text: &str) -> String {
        let Self { name, attributes } = self;
        let end = if text.is_empty() { "" } else { "\n" };
        format!("<{name}{attributes}>\n{text}{end}</{name}>")
    }
}

/// The text without characters that begin or end an element.
pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            _ => escaped.push(c),
        }
    }
    escaped
}
