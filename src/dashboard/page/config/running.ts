import type { RunningView } from '../../config/view.ts';
import { bytes, count, escaped, isNearlyFull, milliseconds, since } from '../format.ts';
import { html } from '../html.ts';

/** The running process: its uptime, limits, memory and event loop. */
export const Running = ({ running }: { readonly running: RunningView | null }) =>
  running === null
    ? html`<p class="dim">
        Uptime, limits, memory and earlier reloads come from the control socket, which is not
        reachable here.
      </p>`
    : html`<dl class="facts">
          <dt>Process</dt>
          <dd>
            weir ${escaped(running.version)}, pid ${running.pid}, up ${since(running.startedAt)}
          </dd>
          <dt>Plane epoch</dt>
          <dd>${count(running.planeEpoch)}: how often the routing has been replaced</dd>
          <dt>Memory</dt>
          <dd>
            ${bytes(running.memory.resident)} resident; heap ${bytes(running.memory.heapUsed)} of
            ${' '}${bytes(running.memory.heapTotal)}, ${bytes(running.memory.external)} outside of
            it
          </dd>
          <dt>Event loop</dt>
          <dd>${loopText(running.loop)}</dd>
        </dl>
        ${
          running.limits.length > 0 &&
          html`<table class="plain">
            <caption class="visually-hidden">
              Limits
            </caption>
            <thead>
              <tr>
                <th scope="col">Limit</th>
                <th scope="col" class="number">Used</th>
                <th scope="col" class="number">Of</th>
                <th scope="col" class="number">Full</th>
              </tr>
            </thead>
            <tbody>
              ${running.limits.map(
                ({ name, used, limit }) =>
                  html`<tr key=${name}>
                    <th scope="row">${escaped(name)}</th>
                    <td class="number">${count(used)}</td>
                    <td class="number">${count(limit)}</td>
                    <td class="number">${fullText(used, limit)}</td>
                  </tr>`,
              )}
            </tbody>
          </table>`
        }`;

const loopText = (loop: RunningView['loop']): string =>
  loop === null
    ? 'not measured yet'
    : `late by ${milliseconds(loop.p50)} (median), ${milliseconds(loop.p99)} (p99), ${milliseconds(loop.max)} at most in ${since(loop.since)}`;

const fullText = (used: number, limit: number): string => {
  const share = limit === 0 ? 0 : used / limit;
  const text = `${Math.round(share * 100)} %`;
  return isNearlyFull(used, limit) ? `▲ ${text}, nearly full` : text;
};
