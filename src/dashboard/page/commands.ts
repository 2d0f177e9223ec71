import { computed, signal, type ReadonlySignal } from '@preact/signals';
import { useLayoutEffect } from 'preact/hooks';

/** Something that a key or the palette does. */
export interface PageCommand {
  /** An imperative sentence without a full stop, shown in the palette and in the help. */
  readonly title: string;
  /** The heading in the palette: `Go to`, `Connections`, `Groups`. */
  readonly group: string;
  /** `x`, `/`, `Escape`, `Control+k`; after `g`, `g c`. None is only in the palette. */
  readonly key?: string;
  readonly run: () => void;
}

const registered = signal<readonly (readonly PageCommand[])[]>([]);

/** All commands that can be run now, those of the shell first. */
export const commands: ReadonlySignal<readonly PageCommand[]> = computed(() =>
  registered.value.flat(),
);

/** Makes `list` available; the result takes it away again. */
function addCommands(list: readonly PageCommand[]): () => void {
  registered.value = [...registered.peek(), list];
  return () => {
    registered.value = registered.peek().filter((other) => other !== list);
  };
}

/** Makes commands available while the component is mounted. `list` is read again after each rendering. */
export function useCommands(list: readonly PageCommand[]): void {
  // The titles and keys seldom change with a rendering; what `run` closes over does.
  // Before the next key, which would act on what was there before this rendering.
  useLayoutEffect(() => addCommands(list));
}
