//! The members of a task that say its status, and those that say so after a change. Both ways lose
//! nothing: what is written reads back as what was meant.
//!
//! Which members mean what is the format's; this reads them, and names what is wrong with a word.

use super::{
    Format,
    error::{FormatResult, shorten},
    fields::{Field, Fields, percent},
    layout::Layout,
    read,
    render::Value,
    rules::FormatRules,
    tree::{At, Kind, Tree},
    warning::{Notices, WarningKind},
};
use crate::task::Status;

/// A member that is to have a value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Put {
    pub(super) field: Field,
    /// Its name, where it has to be added.
    pub(super) name: String,
    pub(super) value: Value,
}

/// Describes what a task says about its status so far.
pub(super) struct StatusMembers<'t, 'a> {
    tree: &'t Tree<'a>,
    fields: &'t Fields,
    rules: &'static FormatRules,
    notices: &'t Notices,
    /// Tells what its status word means; `None` also for a word that is not known.
    pub(super) word: Option<Status>,
}

impl<'t, 'a> StatusMembers<'t, 'a> {
    fn of(
        tree: &'t Tree<'a>,
        format: Format,
        fields: &'t Fields,
        notices: &'t Notices,
    ) -> FormatResult<Self> {
        Ok(Self {
            tree,
            fields,
            rules: format.rules(),
            notices,
            word: word(tree, format, fields, notices)?,
        })
    }

    /// Returns true if the task has the member, even if it says nothing.
    pub(super) fn has(&self, field: Field) -> bool {
        self.fields.own(field).or(self.at(field)).is_some()
    }

    pub(super) fn has_word(&self) -> bool {
        has_word(self.tree, self.fields).is_some()
    }

    fn at(&self, field: Field) -> Option<At> {
        self.fields.get(self.tree, field)
    }

    pub(super) fn flag(&self, field: Field) -> FormatResult<Option<bool>> {
        let Some(at) = self.at(field) else {
            return Ok(None);
        };
        let exact = read::boolean(self.tree, at);
        if exact.is_ok() || !self.rules.lenient {
            return exact.map(Some);
        }
        let spelled = self.tree.text(at);
        let near = match spelled.trim().to_ascii_lowercase().as_str() {
            _ if matches!(self.tree.kind(at), Kind::List | Kind::Map) => None,
            "true" | "yes" | "y" | "1" => Some(true),
            "false" | "no" | "n" | "0" | "" => Some(false),
            // A reason.
            _ if field == Field::Blocked => Some(true),
            _ => None,
        };
        let shown = shorten(&spelled, 40);
        let meaning = match (near, self.meaning_of_flag(field)) {
            (Some(true), _) => "it counts as true".to_owned(),
            (Some(false), _) => "it counts as false".to_owned(),
            (None, Some(status)) => format!("it counts as {status}"),
            (None, None) => "it is not read".to_owned(),
        };
        let name = self.tree.text(at - 1);
        let message = format!("expected true or false as `{name}`, found \"{shown}\"; {meaning}");
        self.notices
            .add(WarningKind::OddValue, self.tree.start(at), message);
        Ok(near)
    }

    fn meaning_of_flag(&self, field: Field) -> Option<Status> {
        let is_done_flag = matches!(field, Field::Passes | Field::Done);
        let at = self.at(field).filter(|_| is_done_flag)?;
        (self.tree.kind(at) == Kind::Text).then(|| synonym(&self.tree.text(at)))?
    }

    /// Warns where another member says of done the opposite of the flag that counts.
    pub(super) fn warn_of_contradictions(&self, flag: Option<bool>) -> FormatResult<()> {
        let Some((flag, counts)) = flag.zip(self.at(Field::Passes).or(self.at(Field::Done))) else {
            return Ok(());
        };
        let but = format!(
            "but `{}` is {flag}, which counts",
            self.tree.text(counts - 1)
        );
        let warn = |at: At, what: String| {
            let offset = self.tree.start(at);
            let message = format!("{what}, {but}");
            self.notices.add(WarningKind::OddValue, offset, message);
        };
        for at in self.fields.all(self.tree, Field::Done) {
            if at != counts && read::boolean(self.tree, at).is_ok_and(|is| is != flag) {
                let name = self.tree.text(at - 1);
                warn(at, format!("`{name}` is {}", !flag));
            }
        }
        if let (Some(Status::Completed), Some(at), false) =
            (self.word, has_word(self.tree, self.fields), flag)
        {
            warn(at, "its status says completed".to_owned());
        }
        Ok(())
    }

    /// Returns what a date of completion, or the share that is done, says where nothing else does.
    pub(super) fn measured(&self) -> Option<Status> {
        if self
            .at(Field::CompletedAt)
            .is_some_and(|at| !self.tree.text(at).trim().is_empty())
        {
            return Some(Status::Completed);
        }
        let share = percent(self.tree, self.at(Field::Progress)?)?;
        Some(match share {
            100.0 => Status::Completed,
            0.0 => Status::Open,
            _ => Status::InProgress,
        })
    }

    /// Returns true if a measure says that the task is done, or can be made to.
    pub(super) fn can_measure_done(&self) -> bool {
        self.measured() == Some(Status::Completed) || self.at(Field::Progress).is_some()
    }

    /// Returns what is to be written so that the measure of a task that says nothing else is as wanted.
    pub(super) fn measure_puts(&self, to: Status) -> Vec<Put> {
        let mut puts = Vec::new();
        let named = |at: At| self.tree.text(at - 1).into_owned();
        if to != Status::Completed
            && let Some(at) = self.at(Field::CompletedAt)
        {
            puts.push(put(Field::CompletedAt, &named(at), Value::Null));
        }
        if let Some(at) = self
            .at(Field::Progress)
            .filter(|_| self.measured() != Some(to))
        {
            let share = if to == Status::Completed { "100" } else { "0" };
            let value = match self.tree.kind(at) {
                Kind::Text => Value::Text(format!("{share}%")),
                _ => Value::Number(share.to_owned()),
            };
            puts.push(put(Field::Progress, &named(at), value));
        }
        puts
    }

    /// Returns the meaning of a status word that stands where true or false belongs.
    pub(super) fn word_in_flag(&self) -> Option<Status> {
        let flags = [Field::Passes, Field::Done].into_iter();
        flags.filter_map(|field| self.meaning_of_flag(field)).next()
    }

    /// Returns what is to be written so that a flag that the task has is as wanted.
    pub(super) fn flag_put(&self, field: Field, want: bool) -> FormatResult<Option<Put>> {
        let at = self.fields.own(field).or(self.at(field));
        let name = at.map(|at| self.tree.text(at - 1).into_owned());
        let Some(name) = name else {
            return Ok(None);
        };
        self.named_flag_put(field, &name, want)
    }

    /// The same for a flag that is added under a name if it is not there.
    pub(super) fn named_flag_put(
        &self,
        field: Field,
        name: &str,
        want: bool,
    ) -> FormatResult<Option<Put>> {
        // False is only written over a true: an absent flag says the same.
        let is = self.flag(field)? == Some(true);
        let says_more = !want && self.meaning_of_flag(field).is_some();
        Ok((is != want || says_more).then(|| put(field, name, Value::Bool(want))))
    }

    /// The status in the file's word for it, in the member that the task or its siblings have.
    pub(super) fn word_put(&self, to: Status, words: &FileWords<'_>) -> Put {
        let value = Value::Text(words.word(to));
        let (field, name) = match (self.at(Field::Status), self.at(Field::State)) {
            (Some(_), _) => (Field::Status, "status".to_owned()),
            (None, Some(_)) => (Field::State, "state".to_owned()),
            (None, None) => words.word_member(),
        };
        Put { field, name, value }
    }
}

/// The way a file says statuses, looked at only when something has to be said.
pub(super) struct FileWords<'w> {
    rules: &'static FormatRules,
    vocabulary: &'w dyn Fn() -> &'w Vocabulary,
}

impl FileWords<'_> {
    fn word(&self, status: Status) -> String {
        match self.rules.open_word {
            Some(open) => (self.vocabulary)().word(status, open),
            None => (self.rules.word)(status).to_owned(),
        }
    }

    fn word_member(&self) -> (Field, String) {
        let member = match self.rules.open_word {
            Some(_) => (self.vocabulary)().member,
            None => None,
        };
        match member {
            Some(Field::State) => (Field::State, "state".to_owned()),
            _ => (Field::Status, "status".to_owned()),
        }
    }

    /// Says that a task is done which has no member for it: the way its siblings do.
    pub(super) fn done_put(&self) -> Put {
        let file = (self.vocabulary)();
        match (&file.flag, file.member) {
            (Some((field, name)), _) => put(*field, name, Value::Bool(true)),
            (None, Some(_)) => {
                let (field, name) = self.word_member();
                put(field, &name, Value::Text(self.word(Status::Completed)))
            }
            (None, None) => put(Field::Passes, "passes", Value::Bool(true)),
        }
    }
}

pub(super) fn parse(
    tree: &Tree<'_>,
    format: Format,
    fields: &Fields,
    notices: &Notices,
) -> FormatResult<Status> {
    (format.rules().read_status)(&StatusMembers::of(tree, format, fields, notices)?)
}

/// The members to set so that the task reads as `to`. Empty where it does already and nothing in
/// it disagrees.
pub(super) fn puts<'w>(
    tree: &Tree<'_>,
    format: Format,
    fields: &Fields,
    to: Status,
    vocabulary: &'w dyn Fn() -> &'w Vocabulary,
) -> FormatResult<Vec<Put>> {
    let rules = format.rules();
    let notices = Notices::default();
    let said = StatusMembers::of(tree, format, fields, &notices)?;
    (rules.write_status)(&said, to, &FileWords { rules, vocabulary })
}

fn word(
    tree: &Tree<'_>,
    format: Format,
    fields: &Fields,
    notices: &Notices,
) -> FormatResult<Option<Status>> {
    let status = fields.get(tree, Field::Status);
    let Some(at) = status.or_else(|| fields.get(tree, Field::State)) else {
        return Ok(None);
    };
    let text = match read::text(tree, at, "a status word") {
        Err(fault) if format.rules().lenient => {
            notices.add_fault(*fault, "it is not read");
            return Ok(None);
        }
        text => text?,
    };
    let meaning = synonym(&text);
    if meaning.is_none() {
        let message = unknown_word(format, &text);
        notices.add(WarningKind::UnknownStatus, tree.start(at), message);
    }
    Ok(meaning)
}

fn unknown_word(format: Format, text: &str) -> String {
    let mut message = format!(
        "expected a status ({}), found \"{}\", which counts as open",
        format.rules().words.join(", "),
        shorten(text, 40)
    );
    if let Some(near) = nearest(format, text) {
        message.push_str(&format!("; did you mean \"{near}\"?"));
    }
    message
}

/// Returns true if a value can be a flag for done: true or false, or what people write for them.
pub(super) fn says_done_or_not(tree: &Tree<'_>, at: At) -> bool {
    read::boolean(tree, at).is_ok()
        || match tree.kind(at) {
            Kind::Text => {
                let text = tree.text(at).trim().to_ascii_lowercase();
                synonym(&text).is_some() || ["true", "false", "yes", "no"].contains(&text.as_str())
            }
            Kind::Number => matches!(&*tree.text(at), "0" | "1"),
            Kind::Null | Kind::True | Kind::False | Kind::List | Kind::Map => false,
        }
}

pub(super) fn put(field: Field, name: &str, value: Value) -> Put {
    Put {
        field,
        name: name.to_owned(),
        value,
    }
}

/// The status member, if it holds a word at all.
pub(super) fn has_word(tree: &Tree<'_>, fields: &Fields) -> Option<At> {
    fields
        .get(tree, Field::Status)
        .or_else(|| fields.get(tree, Field::State))
        .filter(|at| tree.kind(*at) == Kind::Text)
}

/// Defines what people write in task files, separators and case aside.
const SYNONYMS: [(Status, &str); 6] = [
    (
        Status::Open,
        "open pending todo notstarted notdone new ready planned backlog queued draft incomplete \
         unstarted reopened unassigned scheduled proposed upcoming future next specready specified \
         readyfordev readyfordevelopment tobedone tostart notimplemented unimplemented undone missing \
         failing fail notpassing notyet",
    ),
    (
        Status::InProgress,
        "inprogress started doing active wip working ongoing inreview review indevelopment testing \
         intesting partial partiallycomplete partiallydone qa inqa readyforreview readyforqa \
         needsreview codereview inflight implementing running claimed assigned underreview \
         awaitingreview developing",
    ),
    (
        Status::Completed,
        "completed complete done passed passes passing pass finished closed implemented verified \
         success succeeded merged resolved shipped deployed released accepted delivered fixed built \
         achieved met satisfied",
    ),
    (
        Status::Blocked,
        "blocked onhold hold waiting stuck paused escalated needsinfo awaiting needshuman",
    ),
    (Status::Failed, "failed error broken"),
    (
        Status::Skipped,
        "skipped skip cancelled canceled wontfix wontdo deferred postponed abandoned dropped obsolete \
         duplicate rejected parked icebox archived superseded removed outofscope descoped \
         notapplicable declined ignored",
    ),
];

/// The same in other languages, as a reader of these would write them.
const OTHER_LANGUAGES: [(Status, &str); 6] = [
    (
        Status::Open,
        "待办 待处理 未开始 未着手 未完成 未対応 대기 할일 offen pendiente abierto porhacer pendente \
         aberto afazer àfaire afaire enattente daerfare дасделать открыто ожидает кработе новая",
    ),
    (
        Status::InProgress,
        "进行中 開発中 进行 進行中 作業中 진행중 inarbeit inbearbeitung enprogreso encurso emandamento \
         emprogresso encours incorso вработе впроцессе",
    ),
    (
        Status::Completed,
        "完成 已完成 完了 済 완료 erledigt fertig abgeschlossen completado completada hecho terminado \
         concluído concluido concluída feito terminé termine fait fini completato fatto готово \
         выполнено завершено сделано",
    ),
    (
        Status::Blocked,
        "阻塞 被阻塞 已阻塞 ブロック 보류 blockiert bloqueado bloqueada bloqué bloque bloccato \
         заблокировано",
    ),
    (
        Status::Failed,
        "失败 失敗 실패 fehlgeschlagen fallido falhou échoué echoue fallito ошибка",
    ),
    (
        Status::Skipped,
        "已取消 取消 跳过 已跳过 スキップ 취소 abgebrochen übersprungen verworfen cancelado omitido \
         annulé annule annullato отменено пропущено",
    ),
];

/// The status that a word means to people.
pub(super) fn synonym(word: &str) -> Option<Status> {
    let word = word.trim();
    if matches!(word, "✅" | "✔" | "✔️" | "☑" | "x" | "X" | "[x]" | "[X]") {
        return Some(Status::Completed);
    }
    let shorter = |words: &str| -> String {
        let letters = words.chars().filter(|c| c.is_alphanumeric());
        letters.flat_map(char::to_lowercase).collect()
    };
    let meant = |word: &str| {
        let mut tables = SYNONYMS.iter().chain(&OTHER_LANGUAGES);
        let found = tables.find(|(_, words)| words.split_whitespace().any(|known| known == word));
        found.map(|(status, _)| *status)
    };
    let whole = shorter(word);
    // A date or a reason often stands behind the word.
    let before = |mark: char| word.split_once(mark).map(|(first, _)| shorter(first));
    let first = || before('(').or_else(|| before(':')).or_else(|| before('—'));
    meant(&whole).or_else(|| meant(&first()?))
}

/// The status that a word means which is not known, but for a letter or two.
pub(super) fn misspelled(word: &str) -> Option<Status> {
    const CLOSE: f64 = 0.93;
    if synonym(word).is_some() {
        return None;
    }
    let letters = word.chars().filter(|c| c.is_alphanumeric());
    let word: String = letters.flat_map(char::to_lowercase).collect();
    let known = SYNONYMS
        .iter()
        .flat_map(|(status, words)| words.split_whitespace().map(move |known| (*status, known)));
    let long = known.filter(|(_, known)| known.len() > 3 && word.len() > 3);
    let scored = long.map(|(status, known)| (strsim::jaro_winkler(known, &word), status, known));
    let near: Vec<_> = scored
        .filter(|(score, _, known)| {
            *score >= CLOSE && strsim::damerau_levenshtein(known, &word) <= 2
        })
        .collect();
    let first = near.iter().max_by(|a, b| a.0.total_cmp(&b.0))?.1;
    // Two that mean different things leave it open.
    near.iter()
        .all(|(_, status, _)| *status == first)
        .then_some(first)
}

/// The allowed word that was probably meant.
pub(super) fn nearest(format: Format, word: &str) -> Option<&'static str> {
    let rules = format.rules();
    let meant = synonym(word).map(rules.word);
    let near = || {
        let words = rules.words.iter().copied();
        words
            .map(|known| (strsim::jaro_winkler(known, &word.to_lowercase()), known))
            .filter(|(score, _)| *score > 0.8)
            .max_by(|a, b| a.0.total_cmp(&b.0))
            .map(|(_, known)| known)
    };
    meant.or_else(near)
}

/// The way a file says statuses: its words, each once and in the order of the file, and its members.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Vocabulary {
    seen: Vec<String>,
    /// The flag that says done, and its name.
    flag: Option<(Field, String)>,
    /// The member that holds words.
    member: Option<Field>,
    /// The date or share that says done where nothing else does, and its name.
    measure: Option<(Field, String)>,
    /// The file is Taskmaster's, which has its own words.
    is_taskmaster: bool,
}

/// Members by which a task is one of Taskmaster's.
const TASKMASTER: [&str; 2] = ["subtasks", "testStrategy"];

impl Vocabulary {
    pub(super) fn of(tree: &Tree<'_>, layout: &Layout) -> Self {
        let mut tasks = layout.tasks.iter();
        let is_its = |at: &At| {
            TASKMASTER
                .iter()
                .any(|name| tree.member(*at, name).is_some())
        };
        let mut found = Self {
            is_taskmaster: tasks.any(is_its),
            ..Self::default()
        };
        // Leaves decide how a file says done; containers only where no leaf says anything.
        let kinds: &[bool] = if layout.is_nested() {
            &[true, false]
        } else {
            &[true]
        };
        for &leaves in kinds {
            let tasks = layout.tasks.iter().enumerate();
            let tasks = tasks.filter(|(n, _)| layout.is_leaf(*n) == leaves);
            for (_, at) in tasks.filter(|(_, at)| tree.kind(**at) == Kind::Map) {
                found.add(tree, &Fields::of(tree, *at));
            }
        }
        found
    }

    fn add(&mut self, tree: &Tree<'_>, fields: &Fields) {
        if let Some(at) = has_word(tree, fields) {
            let word = tree.text(at);
            if !self.seen.iter().any(|known| *known == word) {
                self.seen.push(word.into_owned());
            }
            let named = fields.get(tree, Field::Status).is_some();
            let field = if named { Field::Status } else { Field::State };
            self.member.get_or_insert(field);
        }
        if self.measure.is_none() {
            let measures = [Field::Progress, Field::CompletedAt].into_iter();
            let mut measures = measures.filter_map(|field| Some((field, fields.own(field)?)));
            self.measure = measures
                .next()
                .map(|(field, at)| (field, tree.text(at - 1).into_owned()));
        }
        if self.flag.is_none() {
            let flags = [Field::Passes, Field::Done].into_iter();
            let mut flags = flags.filter_map(|field| Some((field, fields.own(field)?)));
            self.flag = flags
                .next()
                .map(|(field, at)| (field, tree.text(at - 1).into_owned()));
        }
    }

    /// The flag that says done.
    pub(super) fn done_flag(&self) -> Option<(Field, &str)> {
        self.flag.as_ref().map(|(field, name)| (*field, &**name))
    }

    /// The date or share that says done where nothing else does.
    pub(super) fn measure(&self) -> Option<(Field, &str)> {
        self.measure.as_ref().map(|(field, name)| (*field, &**name))
    }

    /// The member that words stand in.
    pub(super) fn word_member(&self) -> Option<Field> {
        self.member
    }

    /// The word for a status: the file's own, else one in the manner of those it has.
    pub(super) fn word(&self, status: Status, open: &str) -> String {
        if let Some(own) = self.seen.iter().find(|word| synonym(word) == Some(status)) {
            return own.clone();
        }
        let has = |word: &str| self.seen.iter().any(|seen| seen.eq_ignore_ascii_case(word));
        let plain = match status {
            Status::Completed if self.is_taskmaster => "done",
            Status::InProgress if self.is_taskmaster => "in-progress",
            Status::Open if self.is_taskmaster => open,
            Status::Open if has("done") => "todo",
            Status::Open if !self.seen.is_empty() => open,
            Status::Completed if has("todo") || has("to_do") || has("to-do") => "done",
            Status::Completed if has("incomplete") => "complete",
            other => other.as_str(),
        };
        self.dress(plain)
    }

    /// Case and separator as the file's other words have them.
    fn dress(&self, word: &str) -> String {
        let separated = self.seen.iter().find(|seen| seen.contains(['-', ' ', '_']));
        let word = match separated.and_then(|seen| seen.chars().find(|c| "- _".contains(*c))) {
            Some(separator) => word.replace('_', &separator.to_string()),
            None => word.to_owned(),
        };
        let Some(model) = self.seen.first() else {
            return word;
        };
        let mut letters = model.chars().filter(|c| c.is_alphabetic());
        let first_is_large = letters.next().is_some_and(char::is_uppercase);
        let rest_is_large = letters.next().is_some_and(char::is_uppercase);
        match (first_is_large, rest_is_large) {
            (true, true) => word.to_uppercase(),
            (true, false) => {
                let mut letters = word.chars();
                let first = letters.next().map(|c| c.to_ascii_uppercase());
                first.into_iter().chain(letters).collect()
            }
            (false, _) => word,
        }
    }
}
