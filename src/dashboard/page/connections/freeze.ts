import { useRef, useState } from 'preact/hooks';

/** How rows are kept in their places. */
export interface Freeze {
  /** '' while rows may move. */
  readonly word: string;
  /** Whether the button holds them, and not only the pointer or the focus. */
  readonly isPressed: boolean;
  readonly toggle: () => void;
  /** Takes the rows as they are now. */
  readonly renew: () => void;
  readonly hold: (held: boolean) => void;
}

/** Rows keep their places while the pointer is over them, a row has the focus, or the button is pressed. */
export function useFreeze(): Freeze {
  const [isPressed, setPressed] = useState(false);
  const [isHeld, setHeld] = useState(false);
  const [turn, setTurn] = useState(0);
  // Each freeze has another word; those of other pages differ too.
  const prefix = useRef(Math.random().toString(36).slice(2));
  const isFrozen = isPressed || isHeld;
  return {
    word: isFrozen ? `${prefix.current} ${turn}` : '',
    isPressed,
    toggle: () => {
      setPressed(!isPressed);
      if (!isHeld) setTurn(turn + 1);
    },
    renew: () => setTurn(turn + 1),
    hold: (held) => {
      setHeld(held);
      if (!isPressed) setTurn((before) => before + 1);
    },
  };
}
