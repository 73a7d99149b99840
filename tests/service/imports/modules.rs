//! The modules of a crate: what each defines, imports and names, and which file a path leads to.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::tokens::{Token, group_end, item_end, product};

/// A crate, read from its files.
pub(crate) struct Crate {
    modules: Vec<Module>,
}

/// A module in a file of its own or inside of one.
#[derive(Default)]
struct Module {
    file: PathBuf,
    /// The folder with the files of its children.
    folder: PathBuf,
    parent: usize,
    children: BTreeMap<String, usize>,
    items: BTreeSet<String>,
    imports: Vec<Import>,
    /// All paths in its code, in `use` lines not.
    paths: Vec<Vec<String>>,
    /// All names in its code, in `use` lines not.
    names: BTreeSet<String>,
}

/// One name that a `use` brings in.
struct Import {
    path: Vec<String>,
    /// The name here; `*` for all.
    name: String,
    /// True if it is a `pub use`.
    is_public: bool,
}

/// The target of a path.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Target {
    Module(usize),
    /// Something that this module defines.
    Item(usize),
}

/// From one file to another, with what is imported.
pub(crate) type Arrows = BTreeMap<(PathBuf, PathBuf), BTreeSet<String>>;

/// Maximum number of imports of imports that are followed.
const MAX_CHAIN: usize = 12;

impl Crate {
    /// Reads the crate whose root is this file; `text` gives the text of a file, if it exists.
    pub(crate) fn read(root: &Path, text: &dyn Fn(&Path) -> Option<String>) -> Self {
        let mut found = Self {
            modules: Vec::new(),
        };
        let folder = root.parent().unwrap().to_owned();
        found.add(root.to_owned(), folder, 0);
        let mut next = 0;
        while next < found.modules.len() {
            // An inner module was read with its file.
            if found.modules[next].is_file_of(&found.modules) {
                let file = found.modules[next].file.clone();
                let tokens = product(&text(&file).unwrap());
                found.read_items(&tokens, next, text);
            }
            next += 1;
        }
        found
    }

    /// All paths that are written in imports and in code, with the file that they are in.
    pub(crate) fn paths(&self) -> impl Iterator<Item = (&Path, &[String])> {
        self.modules.iter().flat_map(|module| {
            let imports = module.imports.iter().map(|import| &import.path);
            let all = imports.chain(&module.paths);
            all.map(|path| (module.file.as_path(), path.as_slice()))
        })
    }

    fn add(&mut self, file: PathBuf, folder: PathBuf, parent: usize) -> usize {
        self.modules.push(Module {
            file,
            folder,
            parent,
            ..Module::default()
        });
        self.modules.len() - 1
    }

    fn read_items(
        &mut self,
        tokens: &[Token],
        module: usize,
        text: &dyn Fn(&Path) -> Option<String>,
    ) {
        let mut place = 0;
        let mut is_public = false;
        while let Some(token) = tokens.get(place) {
            let word = |ahead: usize| tokens.get(place + ahead).and_then(Token::name);
            let start = place;
            match (token.name(), word(1)) {
                (Some("pub"), _) => {
                    is_public = true;
                    place += 1;
                    if tokens.get(place).is_some_and(|token| token.is('(')) {
                        place = group_end(tokens, place);
                    }
                    continue;
                }
                (Some("use"), _) => {
                    place = self.read_use(tokens, place, module, is_public);
                }
                (Some("mod"), Some(name)) => {
                    place = item_end(tokens, place, false);
                    self.read_module(name, &tokens[start + 2..place], module, text);
                }
                _ if token.is('#') => {
                    let group = place + 1 + usize::from(tokens[place + 1].is('!'));
                    place = group_end(tokens, group);
                    self.read_code(&tokens[start..place], module);
                    continue;
                }
                _ => {
                    place = item_end(tokens, place, false).max(place + 1);
                    let item = &tokens[start..place.min(tokens.len())];
                    self.modules[module].items.extend(defined(item));
                    self.read_code(item, module);
                }
            }
            is_public = false;
        }
    }

    /// Adds a child; `rest` is the tokens after its name: none or its content.
    fn read_module(
        &mut self,
        name: &str,
        rest: &[Token],
        parent: usize,
        text: &dyn Fn(&Path) -> Option<String>,
    ) {
        let folder = self.modules[parent].folder.join(name);
        let [open, content @ .., _] = rest else {
            let beside = folder.with_extension("rs");
            let file = [beside, folder.join("mod.rs")]
                .into_iter()
                .find(|file| text(file).is_some())
                .unwrap_or_else(|| panic!("no file for {}", folder.display()));
            let child = self.add(file, folder, parent);
            self.modules[parent].children.insert(name.to_owned(), child);
            return;
        };
        assert!(open.is('{'));
        let file = self.modules[parent].file.clone();
        let child = self.add(file, folder, parent);
        self.modules[parent].children.insert(name.to_owned(), child);
        self.read_items(content, child, text);
    }

    /// Reads a `use` to its end.
    fn read_use(&mut self, tokens: &[Token], from: usize, module: usize, is_public: bool) -> usize {
        let end = tokens[from..].iter().position(|token| token.is(';'));
        let end = end.map_or(tokens.len(), |length| from + length);
        let mut found = Vec::new();
        imported(&tokens[from + 1..end], &[], &mut found);
        let imports = found.into_iter().map(|(path, name)| Import {
            path,
            name,
            is_public,
        });
        self.modules[module].imports.extend(imports);
        end + 1
    }

    /// Takes the paths and names out of code, and what it imports inside.
    fn read_code(&mut self, tokens: &[Token], module: usize) {
        let mut place = 0;
        while let Some(token) = tokens.get(place) {
            let is_bound = |next: &Token| next.is('<');
            if token.name() == Some("use") && !tokens.get(place + 1).is_some_and(is_bound) {
                place = self.read_use(tokens, place, module, false);
                continue;
            }
            let Some(name) = token.name() else {
                place += 1;
                continue;
            };
            let is_member = place > 0 && tokens[place - 1].is('.');
            let mut path = vec![name.to_owned()];
            while let (Some(Token::Colons), Some(Token::Name(next))) =
                (tokens.get(place + 1), tokens.get(place + 2))
            {
                path.push(next.clone());
                place += 2;
            }
            place += 1;
            // A field or a parameter of that name, or something of a value.
            let is_label = tokens.get(place).is_some_and(|next| next.is(':'));
            if path.len() == 1 && (is_label || is_member) {
                continue;
            }
            self.modules[module].names.insert(path[0].clone());
            self.modules[module].paths.push(path);
        }
    }

    /// The targets of a path that is written in a module.
    fn resolve(&self, module: usize, path: &[String], depth: usize) -> BTreeSet<Target> {
        let mut heads = path.iter();
        let mut at = module;
        let mut names = path;
        for head in heads.by_ref() {
            match head.as_str() {
                "crate" => at = 0,
                "super" => at = self.modules[at].parent,
                "self" => {}
                _ => break,
            }
            names = &names[1..];
        }
        let mut found = BTreeSet::from([Target::Module(at)]);
        for (place, name) in names.iter().enumerate() {
            found = found
                .into_iter()
                .flat_map(|target| match target {
                    Target::Module(at) => self.named(at, name, depth),
                    // A variant, or something that belongs to a type.
                    Target::Item(_) => BTreeSet::from([target]),
                })
                .collect();
            // A function may have the name of a module, and nothing is in a function.
            let is_module = |target: &Target| matches!(target, Target::Module(_));
            if place + 1 < names.len() && !starts_big(name) && found.iter().any(is_module) {
                found.retain(is_module);
            }
        }
        found
    }

    /// The meaning of a name in a module.
    fn named(&self, module: usize, name: &str, depth: usize) -> BTreeSet<Target> {
        let here = &self.modules[module];
        let mut found = BTreeSet::new();
        found.extend(here.children.get(name).map(|child| Target::Module(*child)));
        if here.items.contains(name) {
            found.insert(Target::Item(module));
        }
        if depth == MAX_CHAIN {
            return found;
        }
        for import in &here.imports {
            if import.name == name {
                found.extend(self.resolve(module, &import.path, depth + 1));
            } else if import.name == "*" {
                for target in self.resolve(module, &import.path, depth + 1) {
                    if let Target::Module(all) = target {
                        found.extend(self.named(all, name, depth + 1));
                    }
                }
            }
        }
        found
    }

    /// All arrows between files. What a file only hands on with `pub use` is none of its own.
    pub(crate) fn arrows(&self) -> Arrows {
        let mut arrows = Arrows::new();
        for (place, module) in self.modules.iter().enumerate() {
            let imports = module.imports.iter();
            let used = imports.filter(|import| !import.is_public || module.says(&import.name));
            for path in used.map(|import| &import.path).chain(&module.paths) {
                for target in self.resolve(place, path, 0) {
                    let Target::Item(to) = target else { continue };
                    let to = &self.modules[to].file;
                    if *to != module.file {
                        let arrow = (module.file.clone(), to.clone());
                        let names = arrows.entry(arrow).or_default();
                        names.extend(
                            path.iter()
                                .find(|name| starts_big(name))
                                .or(path.last())
                                .cloned(),
                        );
                    }
                }
            }
        }
        arrows
    }
}

impl Module {
    /// True if the module's file begins with it.
    fn is_file_of(&self, modules: &[Self]) -> bool {
        let parent = &modules[self.parent];
        std::ptr::eq(self, parent) || parent.file != self.file
    }

    fn says(&self, name: &str) -> bool {
        self.names.contains(name)
    }
}

/// True if the name is that of a type or a constant.
fn starts_big(name: &str) -> bool {
    name.starts_with(|first: char| first.is_uppercase())
}

/// The name that an item defines.
fn defined(item: &[Token]) -> Option<String> {
    let words = item.iter().map_while(|token| match token {
        Token::Name(name) => Some(name.as_str()),
        Token::Sign('!') => Some("!"),
        _ => None,
    });
    let words: Vec<&str> = words.collect();
    let kinds = [
        "fn", "struct", "enum", "trait", "type", "const", "static", "union", "!",
    ];
    words.windows(2).rev().find_map(|pair| match pair {
        ["const", "fn" | "unsafe" | "async"] => None,
        [kind, name] if kinds.contains(kind) => Some((*name).to_owned()),
        _ => None,
    })
}

/// The paths of a tree of imports, each with the name that it gets.
fn imported(tree: &[Token], before: &[String], found: &mut Vec<(Vec<String>, String)>) {
    let mut path = before.to_vec();
    let mut alias = None;
    let mut place = 0;
    while let Some(token) = tree.get(place) {
        match token {
            Token::Name(word) if word == "as" => {
                alias = tree.get(place + 1).and_then(Token::name);
                place += 1;
            }
            Token::Name(word) => path.push(word.clone()),
            Token::Sign('*') => {
                found.push((path, "*".to_owned()));
                return;
            }
            Token::Sign('{') => {
                let inner = &tree[place + 1..group_end(tree, place) - 1];
                for branch in branches(inner) {
                    imported(branch, &path, found);
                }
                return;
            }
            Token::Colons | Token::Sign(_) => {}
        }
        place += 1;
    }
    if path.len() > 1 && path.last().is_some_and(|last| last == "self") {
        path.pop();
    }
    if let Some(last) = path.last() {
        let name = alias.map_or_else(|| last.clone(), str::to_owned);
        found.push((path, name));
    }
}

/// The parts between the outer commas.
fn branches(tokens: &[Token]) -> Vec<&[Token]> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut place = 0;
    while let Some(token) = tokens.get(place) {
        if token.is('{') {
            place = group_end(tokens, place);
        } else {
            place += 1;
            if token.is(',') {
                found.push(&tokens[start..place - 1]);
                start = place;
            }
        }
    }
    found.push(&tokens[start..]);
    found
}
