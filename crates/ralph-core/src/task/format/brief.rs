//! A long JSON list of tasks in brief: task by task, without a tree of the whole file, and in
//! blocks that a crew can read side by side.
//!
//! Where blocks begin and which format the tasks have is guessed, and both guesses are checked
//! against what was read. Gives back only what the usual way would: where a guess was wrong, or
//! anything is wrong with the file, it gives nothing. Must not report errors.

use std::ops::ControlFlow;

use memchr::memmem;

use super::crew::{Crew, Job};
use super::json::Scanner;
use super::layout::{self, PRD_LISTS, TASKS};
use super::story;
use super::tree::{At, Kind, Tree};
use super::{Document, Format, Syntax};
use crate::task::{Outline, Place};

/// Below this size a block is not worth a hand; tests make do with short files.
const SMALLEST_BLOCK: usize = if cfg!(test) { 40 } else { 256 * 1024 };

/// Reads a whole file. `None`: it has to be read the usual way.
pub(super) fn parse<'a>(
    text: &'a str,
    from: usize,
    file_index: u32,
    crew: &'a dyn Crew,
) -> Option<Document<Outline>> {
    let mut file = File {
        scanner: Scanner::new(Tree::small(Syntax::Json, text), from),
        text,
        file_index,
        crew,
        stories: None,
    };
    file.scanner.space();
    match file.scanner.peek()? {
        b'[' => file.list(0, Format::Native)?,
        b'{' => file.map()?,
        _ => return None,
    }
    file.scanner.end().ok()?;
    let stories = file.stories?;
    let tree = file.scanner.tree;
    let layout = layout::detect(&tree).ok()?;
    let format = layout::stronger(layout.format, stories.block.format);
    let as_guessed = layout.list == Some(stories.list) && format == stories.guess;
    as_guessed.then(|| Document {
        format,
        syntax: Syntax::Json,
        meta: layout::meta(&tree, &layout),
        tasks: stories.block.tasks,
    })
}

/// A file on its way. The tree has everything but the tasks.
struct File<'a> {
    scanner: Scanner<'a>,
    text: &'a str,
    file_index: u32,
    crew: &'a dyn Crew,
    stories: Option<Stories>,
}

/// The tasks of one list.
struct Stories {
    list: At,
    guess: Format,
    block: Block,
}

/// Tasks that stand beside each other.
struct Block {
    tasks: Vec<Outline>,
    /// The format that they speak for.
    format: Format,
    /// Where the next block begins, or the list ends.
    end: usize,
}

impl<'a> File<'a> {
    fn map(&mut self) -> Option<()> {
        let scanner = &mut self.scanner;
        let root = scanner.open(Kind::Map, 0).ok()?;
        scanner.space();
        if scanner.peek()? == b'}' {
            return None;
        }
        loop {
            let scanner = &mut self.scanner;
            let key = scanner.key().ok()?;
            scanner.space();
            let name = scanner.tree.text(key);
            let is_prd = PRD_LISTS.contains(&&*name);
            let is_first = self.stories.is_none() && scanner.peek()? == b'[';
            if is_first && (is_prd || name == TASKS) {
                let named = || {
                    scanner
                        .tree
                        .members(root)
                        .any(|(key, _)| scanner.tree.text(key) == "project_name")
                };
                let guess = if is_prd {
                    Format::Prd
                } else if named() {
                    Format::Artefacts
                } else {
                    Format::Native
                };
                self.list(1, guess)?;
            } else {
                scanner.value(1).ok()?;
            }
            if !self.scanner.goes_on(b'}').ok()? {
                break;
            }
        }
        self.scanner.at += 1;
        self.scanner.tree.close(root, self.scanner.at);
        Some(())
    }

    /// Reads the list that begins here, if it has tasks. It stays empty in the tree.
    fn list(&mut self, depth: usize, guess: Format) -> Option<()> {
        let list = self.scanner.open(Kind::List, depth).ok()?;
        self.scanner.space();
        let first = self.scanner.at;
        let reader = self.reader(first, depth + 1, guess)?;
        let starts = self.starts(first, depth + 1);
        let block = reader.read_all(&starts, self.crew)?;
        self.scanner.at = block.end + 1;
        self.scanner.tree.close(list, self.scanner.at);
        self.stories = Some(Stories {
            list,
            guess: reader.format,
            block,
        });
        Some(())
    }

    /// Guesses the format by the first task.
    fn reader(&self, first: usize, depth: usize, guess: Format) -> Option<Reader<'a>> {
        let mut scanner = Scanner::new(Tree::small(Syntax::Json, self.text), first);
        let at = scanner.value(depth).ok()?;
        let told = layout::of_task(&scanner.tree, at);
        Some(Reader {
            text: self.text,
            depth,
            format: layout::stronger(guess, told),
            file_index: self.file_index,
        })
    }

    /// Guesses where blocks of about the same size begin: at what looks like the place between the
    /// first two tasks, with the first name of the second.
    fn starts(&self, first: usize, depth: usize) -> Vec<usize> {
        let rest = self.text.len() - first;
        let blocks = self.crew.size().min(rest / SMALLEST_BLOCK);
        let mut starts = vec![first];
        let Some(between) = self.between(first, depth).filter(|_| blocks > 1) else {
            return starts;
        };
        let look = &self.text.as_bytes()[between.from..between.to];
        let finder = memmem::Finder::new(look);
        for block in 1..blocks {
            let about = first + rest / blocks * block;
            if let Some(found) = finder.find(&self.text.as_bytes()[about..]) {
                let start = about + found + (between.task - between.from);
                if starts.last() < Some(&start) {
                    starts.push(start);
                }
            }
        }
        starts
    }

    fn between(&self, first: usize, depth: usize) -> Option<Between> {
        let mut scanner = Scanner::new(Tree::small(Syntax::Json, self.text), first);
        scanner.value(depth).ok()?;
        let from = scanner.at - 1;
        scanner.goes_on(b']').ok()?.then_some(())?;
        let task = scanner.at;
        scanner.open(Kind::Map, depth).ok()?;
        scanner.key().ok()?;
        Some(Between {
            from,
            task,
            to: scanner.at,
        })
    }
}

/// The text from the end of a task to the first name in the next one.
struct Between {
    from: usize,
    task: usize,
    to: usize,
}

/// Reads blocks; all of them are read alike.
#[derive(Clone, Copy)]
struct Reader<'a> {
    text: &'a str,
    depth: usize,
    format: Format,
    file_index: u32,
}

impl Reader<'_> {
    /// Reads the blocks that begin at `starts`, the last one up to the end of the list.
    fn read_all(self, starts: &[usize], crew: &dyn Crew) -> Option<Block> {
        let mut blocks: Vec<Option<Block>> = starts.iter().map(|_| None).collect();
        let mut jobs: Vec<Job<'_>> = Vec::with_capacity(starts.len());
        for (at, block) in blocks.iter_mut().enumerate() {
            let stop = starts.get(at + 1).copied();
            jobs.push(Box::new(move || *block = self.read(starts[at], stop)));
        }
        crew.run(jobs);
        let mut blocks = blocks.into_iter();
        let mut all = blocks.next().flatten()?;
        for (block, start) in blocks.zip(&starts[1..]) {
            // A block counts if the one before ended where it begins: what it made of the text
            // there is then what anybody would.
            all = block
                .filter(|_| all.end == *start)
                .map(|block| all.join(block))?;
        }
        Some(all)
    }

    fn read(self, start: usize, stop: Option<usize>) -> Option<Block> {
        let mut scanner = Scanner::new(Tree::small(Syntax::Json, self.text), start);
        let mut block = Block {
            tasks: Vec::new(),
            format: Format::Native,
            end: start,
        };
        while let ControlFlow::Continue(()) = self.step(&mut scanner, &mut block, stop)? {}
        Some(block)
    }

    /// Reads one task, and says whether the block goes on behind it.
    fn step(
        self,
        scanner: &mut Scanner<'_>,
        block: &mut Block,
        stop: Option<usize>,
    ) -> Option<ControlFlow<()>> {
        scanner.tree.clear();
        let place = Place {
            file: self.file_index,
            position: block.tasks.len() as u32,
            offset: scanner.at as u32,
        };
        let at = scanner.value(self.depth).ok()?;
        let tree = &scanner.tree;
        let task = story::outline(tree, self.format, at, place).ok()?;
        block.tasks.push(task);
        if block.format != Format::Prd {
            block.format = layout::stronger(block.format, layout::of_task(tree, at));
        }
        let goes_on = scanner.goes_on(b']').ok()?;
        block.end = scanner.at;
        match (goes_on, stop) {
            (false, None) => Some(ControlFlow::Break(())),
            (true, Some(stop)) if scanner.at == stop => Some(ControlFlow::Break(())),
            (true, Some(stop)) if scanner.at > stop => None,
            (false, Some(_)) => None,
            (true, _) => Some(ControlFlow::Continue(())),
        }
    }
}

impl Block {
    fn join(mut self, other: Self) -> Self {
        let before = self.tasks.len() as u32;
        self.tasks.extend(other.tasks.into_iter().map(|mut task| {
            task.place.position += before;
            task
        }));
        self.format = layout::stronger(self.format, other.format);
        self.end = other.end;
        self
    }
}
