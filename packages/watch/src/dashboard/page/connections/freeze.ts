import { useRef, useState } from 'preact/hooks';

/** State and controls of frozen rows. */
export interface Freeze {
  /** The parameter `freeze`; '' while rows may move. */
  readonly word: string;
  /** Whether the button, and not only the pointer or the focus, freezes the rows. */
  readonly isPressed: boolean;
  readonly toggle: () => void;
  /** Freezes the rows as they are now. */
  readonly renew: () => void;
  readonly hold: (held: boolean) => void;
}

/** Freezes the rows while the pointer is over them, a row has the focus, or the button is pressed. */
export function useFreeze(): Freeze {
  const [isPressed, setPressed] = useState(false);
  const [isHeld, setHeld] = useState(false);
  const [turn, setTurn] = useState(0);
  // Each freeze has its own id, which differs from those of other pages too.
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
