import { html } from '../html.ts';
import { useRef } from 'preact/hooks';
import { useCommands } from '../commands.ts';
import { setParameters } from '../router.ts';
import { enterRows } from './grid.ts';

/** The value of the field that an event targets. */
export const valueOf = ({ target }: Event): string =>
  target instanceof HTMLInputElement || target instanceof HTMLSelectElement ? target.value : '';

/** A select box with its label beside it. */
export const Choice = ({
  label,
  value,
  options,
  onChange,
}: {
  readonly label: string;
  readonly value: string;
  /** Values with their labels. */
  readonly options: readonly (readonly [string, string])[];
  readonly onChange: (value: string) => void;
}) =>
  html`<label class="choice">
    <span>${label}</span>
    <select value=${value} onChange=${(event: Event) => onChange(valueOf(event))}>
      ${options.map(
        ([option, text]) =>
          html`<option value=${option} selected=${option === value}>${text}</option>`,
      )}
    </select>
  </label>`;

/**
 * A search field whose text is a parameter of the page; `/` focuses it, Enter and Escape return to the rows, ↓ moves to
 * the first one.
 */
export function Search({
  label,
  placeholder,
  value,
  parameter = 'search',
  name = label,
  describedBy,
  isInvalid = false,
}: {
  readonly label: string;
  readonly placeholder: string;
  readonly value: string;
  readonly parameter?: string;
  /** Name of the field, if it is not the title of the command. */
  readonly name?: string;
  readonly describedBy?: string;
  readonly isInvalid?: boolean;
}) {
  const field = useRef<HTMLInputElement>(null);
  useCommands([{ title: label, group: 'Page', key: '/', run: () => field.current?.select() }]);
  return html`<input
    class="search"
    type="search"
    ref=${field}
    aria-label=${name}
    aria-describedby=${describedBy}
    aria-invalid=${isInvalid ? 'true' : undefined}
    placeholder=${placeholder}
    spellcheck=${false}
    autocomplete="off"
    value=${value}
    onInput=${(event: Event) => setParameters({ [parameter]: valueOf(event) }, { replace: true })}
    onKeyDown=${(event: KeyboardEvent) => {
      if (!['Escape', 'Enter', 'ArrowDown'].includes(event.key)) return;
      if (event.key === 'Escape') setParameters({ [parameter]: '' }, { replace: true });
      event.preventDefault();
      const grid = document.querySelector<HTMLElement>('main .grid');
      if (event.key === 'ArrowDown') enterRows(grid);
      else grid?.focus();
    }}
  />`;
}
