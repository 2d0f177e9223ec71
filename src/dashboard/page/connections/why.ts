import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import type { FlowRow } from '../../connections/view.ts';
import type { ExplainResult } from '../../rules/view.ts';
import { act } from '../connection.ts';
import { failureOf } from '../components/notice.ts';
import { escaped } from '../format.ts';
import { html } from '../html.ts';
import { Explanation } from '../rules/explanation.ts';

type Answer =
  | { readonly kind: 'none' | 'asked' }
  | { readonly kind: 'answered'; readonly result: ExplainResult }
  | { readonly kind: 'failed'; readonly error: unknown };

/** A button that explains why a flow took its outbound, and the explanation: on request, because it reads the rules. */
export function Why({
  flow,
  children,
}: {
  readonly flow: FlowRow;
  /** Further buttons beside it. */
  readonly children?: ComponentChildren;
}) {
  const [answer, setAnswer] = useState<Answer>({ kind: 'none' });
  const ask = () => {
    setAnswer({ kind: 'asked' });
    act<ExplainResult>('explain', { flow: flow.id }).then(
      (result) => setAnswer({ kind: 'answered', result }),
      (error: unknown) => setAnswer({ kind: 'failed', error }),
    );
  };
  return html`<section aria-label="Why">
    <div class="bar">
      <button type="button" onClick=${ask} disabled=${answer.kind === 'asked'}>
        Why ${escaped(flow.outbound)}?
      </button>
      ${children}
    </div>
    <div aria-live="polite">${bodyOf(answer)}</div>
  </section>`;
}

function bodyOf(answer: Answer) {
  switch (answer.kind) {
    case 'none':
      return null;
    case 'asked':
      return html`<p class="dim">Reading the rules …</p>`;
    case 'failed': {
      const { message, hints } = failureOf(answer.error);
      return html`<p class="error">✕ ${escaped(message)}</p>
        ${hints.map((hint) => html`<p class="hint">${escaped(hint)}</p>`)}`;
    }
    case 'answered':
      return html`<${Explanation} result=${answer.result} />`;
    default:
      return answer satisfies never;
  }
}
