import { html } from '../html.ts';

/** The text of the field that an event is about. */
export const valueOf = ({ target }: Event): string =>
  target instanceof HTMLInputElement || target instanceof HTMLSelectElement ? target.value : '';

/** A choice among words, with its label beside it. */
export const Choice = ({
  label,
  value,
  options,
  onChange,
}: {
  readonly label: string;
  readonly value: string;
  /** Values and what is shown for them. */
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
