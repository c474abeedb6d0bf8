//! The data folder of ralph, and the journal that belongs to it: in the folder, or on a server.

use std::{
    ops::Deref,
    path::{Path, PathBuf},
};

use super::{Journal, Result, sql::SqlJournal, sqlite::SqliteFile};

/// The data folder, with the place of its journal. A folder with a server holds no journal, and everything else.
#[derive(Debug, Clone)]
pub struct DataDir {
    path: PathBuf,
    #[cfg(feature = "postgres")]
    server: Option<std::sync::Arc<super::JournalServer>>,
}

impl DataDir {
    /// Puts the journal on a server.
    #[cfg(feature = "postgres")]
    #[must_use]
    pub fn on(mut self, server: super::JournalServer) -> Self {
        self.server = Some(server.into());
        self
    }

    /// Tells if there may be a journal already. Opening one would make it.
    pub fn has_journal(&self) -> bool {
        let file = std::fs::metadata(self.path.join("ralph.db"));
        // An empty one would be set up by being opened.
        self.is_on_server() || file.is_ok_and(|file| file.len() > 0)
    }

    /// Tells if the journal is on a server.
    pub fn is_on_server(&self) -> bool {
        #[cfg(feature = "postgres")]
        return self.server.is_some();
        #[cfg(not(feature = "postgres"))]
        false
    }

    /// Opens the journal, making it where there is none.
    pub async fn open_journal(&self) -> Result<Box<dyn Journal>> {
        #[cfg(feature = "postgres")]
        if let Some(server) = &self.server {
            return server.open().await;
        }
        let file = SqliteFile::open(&self.path).await?;
        Ok(Box::new(SqlJournal::in_file(file)))
    }
}

impl From<PathBuf> for DataDir {
    fn from(path: PathBuf) -> Self {
        Self {
            path,
            #[cfg(feature = "postgres")]
            server: None,
        }
    }
}

impl Deref for DataDir {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
    }
}

impl AsRef<Path> for DataDir {
    fn as_ref(&self) -> &Path {
        &self.path
    }
}
