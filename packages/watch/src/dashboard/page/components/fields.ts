import { html } from '../html.ts';

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
