//! What each key does.

use kedge_dashboard::view::ObjectState;
use kedge_dashboard::{Action, Health};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};

use super::screen::Screen;

#[derive(Debug, PartialEq)]
pub(super) enum Command {
    Quit,
    Select(usize),
    SelectDial(usize),
    OpenPage,
    Act { namespace: String, name: String, action: Action },
}

/// The command of a key, if it has one at present.
pub(super) fn command_of(key: KeyEvent, screen: &Screen) -> Option<Command> {
    let is_interrupt = key.code == KeyCode::Char('c') && key.modifiers.contains(KeyModifiers::CONTROL);
    match key.code {
        _ if is_interrupt => Some(Command::Quit),
        KeyCode::Char('q') | KeyCode::Esc => Some(Command::Quit),
        KeyCode::Up => Some(Command::Select(screen.selected().saturating_sub(1))),
        KeyCode::Down => Some(Command::Select(screen.selected() + 1)),
        KeyCode::Char('o') => Some(Command::OpenPage),
        KeyCode::Tab => Some(Command::SelectDial(screen.next_dial())),
        code => action_of(code, screen).and_then(|action| act(screen, action)),
    }
}

fn act(screen: &Screen, action: Action) -> Option<Command> {
    let object = screen.object()?;
    Some(Command::Act { namespace: object.namespace.clone(), name: object.name.clone(), action })
}

fn action_of(code: KeyCode, screen: &Screen) -> Option<Action> {
    let turn = |share: f64| {
        let dial = screen.dial()?;
        let value = (dial.value + dial.max * share).clamp(0.0, dial.max).round();
        Some(Action::SetValue { dial: dial.id.clone(), value })
    };
    let health = |health: Health| Some(Action::SetHealth { dial: screen.dial()?.id.clone(), health });
    match code {
        KeyCode::Right => turn(0.05),
        KeyCode::Left => turn(-0.05),
        KeyCode::Char('b') => health(Health::Broken),
        KeyCode::Char('h') => health(Health::Hangs),
        KeyCode::Char('w') => health(Health::Works),
        KeyCode::Char('p') => match screen.object()?.state {
            ObjectState::Paused => Some(Action::Resume),
            _ => Some(Action::Pause),
        },
        KeyCode::Char('f') => Some(Action::ForceActivation { is_forced: !screen.object()?.is_forced }),
        KeyCode::Char('+') => Some(Action::SetSpeed { speed: (screen.speed() * 2.0).min(600.0) }),
        KeyCode::Char('-') => Some(Action::SetSpeed { speed: (screen.speed() / 2.0).max(1.0) }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::screen::tests::screen;
    use super::*;

    #[test]
    fn keys_turn_the_load_and_pause() {
        let screen = screen();
        let press = |code| command_of(KeyEvent::new(code, KeyModifiers::NONE), &screen);
        let act = |action| Some(Command::Act { namespace: "shop".to_owned(), name: "web".to_owned(), action });
        let dial = || "d".to_owned();
        let rows = [
            (KeyCode::Right, act(Action::SetValue { dial: dial(), value: 58.0 })),
            (KeyCode::Left, act(Action::SetValue { dial: dial(), value: 38.0 })),
            (KeyCode::Char('b'), act(Action::SetHealth { dial: dial(), health: Health::Broken })),
            (KeyCode::Char('p'), act(Action::Pause)),
            (KeyCode::Char('f'), act(Action::ForceActivation { is_forced: true })),
            (KeyCode::Char('+'), act(Action::SetSpeed { speed: 20.0 })),
            (KeyCode::Char('q'), Some(Command::Quit)),
            (KeyCode::Char('o'), Some(Command::OpenPage)),
            (KeyCode::Down, Some(Command::Select(1))),
            (KeyCode::Char('x'), None),
        ];
        for (code, expected) in rows {
            assert_eq!(press(code), expected, "{code:?}");
        }
        let interrupt = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(command_of(interrupt, &screen), Some(Command::Quit));
    }
}
