import { useEffect, useRef, useState } from 'preact/hooks';
import type { ExplainParameters, ExplainResult } from '../../rules/view.ts';
import { act } from '../connection.ts';
import { Dialog } from '../components/dialog.ts';
import { Choice, valueOf } from '../components/fields.ts';
import { failureOf } from '../components/notice.ts';
import { escaped } from '../format.ts';
import { html } from '../html.ts';
import { place, setParameters } from '../router.ts';
import { Explanation } from './explanation.ts';

const FIELDS = [
  ['from', 'Client address', '127.0.0.1'],
  ['inbound', 'Inbound', 'the first one'],
  ['sniffed', 'Name in its first bytes', 'none'],
] as const;

/**
 * A form that asks which outbound a flow would take. The question is in the address of the page, so that it can be
 * shared.
 */
export function WhereSheet({ onClose }: { readonly onClose: () => void }) {
  const { to = '', from = '', inbound = '', network = '', sniffed = '' } = place.value.parameters;
  const values = { from, inbound, sniffed };
  const [result, setResult] = useState<ExplainResult | undefined>(undefined);
  const [error, setError] = useState<unknown>(undefined);
  const [isAsked, setAsked] = useState(false);
  const asked = useRef(0);
  const ask = (first = 0) => {
    const turn = ++asked.current;
    const flow: ExplainParameters = {
      to,
      first,
      ...(from !== '' && { from }),
      ...(inbound !== '' && { inbound }),
      ...(network === 'udp' && { network }),
      ...(sniffed !== '' && { sniffed }),
    };
    setAsked(true);
    act<ExplainResult>('explain', flow).then(
      (answer) => turn === asked.current && show(answer, undefined),
      (failure: unknown) => turn === asked.current && show(undefined, failure),
    );
  };
  const show = (answer: ExplainResult | undefined, failure: unknown) => {
    setResult(answer);
    setError(failure);
    setAsked(false);
  };
  // A shared address is answered immediately.
  useEffect(() => {
    if (to !== '') ask();
  }, []);
  const field = (name: string, label: string, placeholder: string, value: string) =>
    html`<label class="field">
      <span>${label}</span>
      <input
        name=${name}
        value=${value}
        placeholder=${placeholder}
        spellcheck=${false}
        autocomplete="off"
        autofocus=${name === 'to'}
        onInput=${(event: Event) => setParameters({ [name]: valueOf(event) }, { replace: true })}
      />
    </label>`;
  return html`<${Dialog} sheet title="Where would it go?" onClose=${onClose}>
    <form
      class="fields"
      onSubmit=${(event: Event) => {
        event.preventDefault();
        ask();
      }}
    >
      ${field('to', 'Destination', 'example.com:443', to)}
      ${FIELDS.map(([name, label, placeholder]) => field(name, label, placeholder, values[name]))}
      <${Choice}
        label="Network"
        value=${network === 'udp' ? 'udp' : 'tcp'}
        options=${NETWORKS}
        onChange=${(chosen: string) => setParameters({ network: chosen }, { replace: true })}
      />
      <button type="submit" class="primary" disabled=${to.trim() === ''}>Explain</button>
    </form>
    <div aria-live="polite" aria-busy=${isAsked ? 'true' : undefined}>
      ${isAsked && !result && html`<p class="dim">Reading the rules …</p>`}
      ${error === undefined ? null : failed(error)}
      ${
        result &&
        html`<p class="dim">${escaped(result.flow)}</p>
          <${Explanation} result=${result} onPassed=${ask} />`
      }
    </div>
  <//>`;
}

const NETWORKS = [
  ['tcp', 'TCP'],
  ['udp', 'UDP'],
] as const;

function failed(error: unknown) {
  const { message, hints } = failureOf(error);
  return html`<p class="error">✕ ${escaped(message)}</p>
    ${hints.map((hint) => html`<p class="hint">${escaped(hint)}</p>`)}`;
}
