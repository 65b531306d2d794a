//! Child processes that end when their owner ends, however it ends.
//!
//! All children of an owner share one process group. Its leader is a guardian: a shell that waits for the end of a pipe
//! which only the owner holds open. When the owner is gone, by its own will, by a panic or by kill -9, the kernel closes
//! the pipe and the guardian kills the group, itself included. (A parent-death signal would not do: it fires when the
//! *thread* that started the child ends.)

use std::ffi::OsStr;
use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use crate::state::MARK;
use crate::wait::wait_for;

/// The group of processes of one owner.
#[derive(Debug)]
pub struct Group {
    guardian: Child,
    lifeline: Option<ChildStdin>,
    members: Vec<Member>,
    folder: PathBuf,
}

#[derive(Debug)]
struct Member {
    name: String,
    command: Command,
    child: Child,
}

impl Member {
    fn start_again(&mut self) -> anyhow::Result<()> {
        self.child = self.command.spawn().with_context(|| format!("cannot start {} again", self.name))?;
        Ok(())
    }
}

impl Group {
    /// Starts the guardian of the cluster, or server, that keeps its state in this folder.
    pub fn start(folder: &Path) -> anyhow::Result<Self> {
        let logs = folder.join("logs");
        fs::create_dir_all(&logs).with_context(|| format!("cannot create the folder {}", logs.display()))?;
        let mut guardian = Command::new("sh")
            .args(["-c", "trap '' HUP INT TERM; read _; kill -KILL 0"])
            .env(MARK, folder)
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .context("cannot start `sh`")?;
        let lifeline = guardian.stdin.take();
        Ok(Self { guardian, lifeline, members: Vec::new(), folder: folder.to_owned() })
    }

    /// What a member has printed.
    pub(crate) fn read_log(&self, name: &str) -> anyhow::Result<String> {
        let log = log_path(&self.folder, name);
        fs::read_to_string(&log).with_context(|| format!("cannot read {}", log.display()))
    }

    /// Starts a program as a member; what it prints goes to `logs/NAME.log`.
    pub fn spawn(
        &mut self,
        name: &str,
        program: &Path,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
    ) -> anyhow::Result<()> {
        self.spawn_in(name, program, arguments, &[])
    }

    /// Starts a program as a member, with these variables beside those of this process.
    pub fn spawn_in(
        &mut self,
        name: &str,
        program: &Path,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
        environment: &[(String, String)],
    ) -> anyhow::Result<()> {
        self.spawn_as(name, program, arguments, environment, None)
    }

    /// Starts a program as a member, as another user where one is given: for programs that refuse to run as root.
    pub fn spawn_as(
        &mut self,
        name: &str,
        program: &Path,
        arguments: impl IntoIterator<Item = impl AsRef<OsStr>>,
        environment: &[(String, String)],
        user: Option<u32>,
    ) -> anyhow::Result<()> {
        let log = log_path(&self.folder, name);
        let log = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        let mut command = Command::new(program);
        command
            .args(arguments)
            .envs(environment.iter().map(|(name, value)| (name, value)))
            .env(MARK, &self.folder)
            .process_group(self.guardian.id().try_into()?)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        if let Some(user) = user {
            command.uid(user).gid(user);
        }
        let child = command.spawn().with_context(|| format!("cannot start {}", program.display()))?;
        self.members.push(Member { name: name.to_owned(), command, child });
        Ok(())
    }

    /// Kills a member.
    pub fn kill(&mut self, name: &str) -> anyhow::Result<()> {
        self.killed(name).map(drop)
    }

    /// Kills a member, and starts it again as it was started. Its log continues.
    pub fn restart(&mut self, name: &str) -> anyhow::Result<()> {
        self.killed(name)?.start_again()
    }

    fn killed(&mut self, name: &str) -> anyhow::Result<&mut Member> {
        let member = self.members.iter_mut().find(|member| member.name == name);
        let member = member.with_context(|| format!("no {name} was started"))?;
        // Fails only when it has ended already.
        let _ = member.child.kill();
        member.child.wait()?;
        Ok(member)
    }

    /// Starts every member that has ended as it was started. Their logs continue.
    pub fn start_again(&mut self) -> anyhow::Result<()> {
        for member in &mut self.members {
            if member.child.try_wait()?.is_some() {
                member.start_again()?;
            }
        }
        Ok(())
    }

    /// The process of a member.
    pub fn process(&self, name: &str) -> Option<u32> {
        self.members.iter().find(|member| member.name == name).map(|member| member.child.id())
    }

    /// Fails, with the end of its log, if a member has ended.
    pub fn check(&mut self) -> anyhow::Result<()> {
        for member in &mut self.members {
            if let Some(status) = member.child.try_wait()? {
                let log = log_path(&self.folder, &member.name);
                bail!("{} ended ({status}); the end of {} says:\n{}", member.name, log.display(), tail(&log, 15));
            }
        }
        Ok(())
    }

    /// Asks every member to end, as a kubelet would, and waits until each has, with success.
    pub async fn terminate(&mut self, limit: Duration) -> anyhow::Result<()> {
        self.ask_to_end()?;
        self.until("every process has ended by itself", limit, |status| status.success()).await
    }

    /// As [`Group::terminate`], whatever each says about its own end: for programs that are not ours.
    pub async fn end(&mut self, limit: Duration) -> anyhow::Result<()> {
        self.ask_to_end()?;
        self.until("every process has ended", limit, |_| true).await
    }

    fn ask_to_end(&self) -> anyhow::Result<()> {
        for member in &self.members {
            let process = i32::try_from(member.child.id()).ok().and_then(Pid::from_raw).context("no such process")?;
            kill_process(process, Signal::TERM).with_context(|| format!("cannot end {}", member.name))?;
        }
        Ok(())
    }

    async fn until(&mut self, what: &str, limit: Duration, as_wanted: fn(ExitStatus) -> bool) -> anyhow::Result<()> {
        let members = &mut self.members;
        wait_for(what, limit, async || {
            let left = members.iter_mut().filter_map(|member| match member.child.try_wait() {
                Ok(Some(status)) if as_wanted(status) => None,
                state => Some((member.name.clone(), format!("{state:?}"))),
            });
            let left: Vec<_> = left.collect();
            if left.is_empty() { Ok(()) } else { Err(left) }
        })
        .await
    }

    /// Kills every member and waits until all are gone.
    pub fn stop(&mut self) {
        drop(self.lifeline.take());
        if let Some(group) = i32::try_from(self.guardian.id()).ok().and_then(Pid::from_raw) {
            // Fails only when the guardian has killed the group already.
            let _ = kill_process_group(group, Signal::KILL);
        }
        for member in &mut self.members {
            let _ = member.child.wait();
        }
        let _ = self.guardian.wait();
        self.members.clear();
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.stop();
    }
}

fn log_path(folder: &Path, name: &str) -> PathBuf {
    folder.join("logs").join(name).with_extension("log")
}

/// The last lines of a file, or why there are none.
pub(crate) fn tail(path: &Path, lines: usize) -> String {
    match fs::read_to_string(path) {
        Ok(text) => {
            let all: Vec<&str> = text.lines().collect();
            all[all.len().saturating_sub(lines)..].join("\n")
        }
        Err(error) => format!("({error})"),
    }
}
