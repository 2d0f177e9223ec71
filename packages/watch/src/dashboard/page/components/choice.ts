import { html } from '../html.ts';

/** A group of toggle buttons, exactly one of which is pressed. */
export function Choice<T extends string>({
  label,
  options,
  value,
  onChoose,
}: {
  readonly label: string;
  readonly options: readonly { readonly value: T; readonly title: string }[];
  readonly value: T;
  readonly onChoose: (value: T) => void;
}) {
  return html`<div class="choice" role="group" aria-label=${label}>
    ${options.map(
      (option) =>
        html`<button
          type="button"
          aria-pressed=${option.value === value ? 'true' : 'false'}
          onClick=${() => onChoose(option.value)}
        >
          ${option.title}
        </button>`,
    )}
  </div>`;
}
