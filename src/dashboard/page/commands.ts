import { computed, signal, type ReadonlySignal } from '@preact/signals';
import { useLayoutEffect } from 'preact/hooks';

/** A command of the page, run by a key or from the palette. */
export interface PageCommand {
  /** An imperative sentence without a full stop, shown in the palette and in the help. */
  readonly title: string;
  /** The heading in the palette: `Go to`, `Connections`, `Groups`. */
  readonly group: string;
  /** `x`, `/`, `Escape`, `Control+k`; after `g`, `g c`. Without a key the command is only in the palette. */
  readonly key?: string;
  readonly run: () => void;
}

const registered = signal<readonly (readonly PageCommand[])[]>([]);

/** All commands currently available, those of the shell first. */
export const commands: ReadonlySignal<readonly PageCommand[]> = computed(() =>
  registered.value.flat(),
);

/** Registers `list`; the returned function removes it again. */
function addCommands(list: readonly PageCommand[]): () => void {
  registered.value = [...registered.peek(), list];
  return () => {
    registered.value = registered.peek().filter((other) => other !== list);
  };
}

/** Makes commands available while the component is mounted. `list` is read again after each rendering. */
export function useCommands(list: readonly PageCommand[]): void {
  // Titles and keys seldom change with a rendering, but the closures in `run` do. A layout effect runs before the
  // next key, which would otherwise act on the previous rendering.
  useLayoutEffect(() => addCommands(list));
}
