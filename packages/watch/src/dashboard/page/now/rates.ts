import uPlot from 'uplot';
import { html } from '../html.ts';
import { useEffect, useRef, useMemo, useState } from 'preact/hooks';
import { now, rate, timeOfDay, count, counted } from '../format.ts';
import { PlainTable } from '../components/plain-table.ts';
import { followMedia } from '../components/media.ts';
import { theme } from '../settings.ts';
import type { RatePoints, RatesView } from '../../now/view.ts';
import { useWatch } from '../connection.ts';
import { place, setParameters } from '../router.ts';

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

const HEIGHT = 180;
/** Width of the rate axis in pixels; it fits `999 MB/s`. */
const AXIS = 76;
/** Steps of the time axis, in seconds. */
const SECONDS = [1, 5, 10, 15, 30, 60, 300, 600, 900];

/** Points further apart than this many steps have a gap between them. */
const GAP_STEPS = 2.5;
/** Milliseconds without a point after which measuring has stopped: samples arrive every second. */
const STOPPED_MS = 3000;

const dark = followMedia('(prefers-color-scheme: dark)');

interface RatesChartProps {
  readonly points: readonly Point[];
  /** Milliseconds that each point represents. */
  readonly step: number;
  /** Milliseconds that the chart shows. */
  readonly span: number;
}

/**
 * A chart of rates over time. Screen readers cannot read it: the table beside it has the same numbers. The lines also
 * differ in style: up is dashed.
 */
function RatesChart({ points, step, span }: RatesChartProps) {
  const end = endOf(points, now.value);
  const window = useRef({ end, span });
  window.current = { end, span };
  const box = useRef<HTMLDivElement>(null);
  const chart = useRef<uPlot | undefined>(undefined);
  const colours = `${theme.value} ${dark.value}`;
  useEffect(() => {
    const parent = box.current;
    if (!parent) return undefined;
    const made = new uPlot(
      optionsFor(parent, () => window.current),
      dataOf(points, step),
      parent,
    );
    chart.current = made;
    const observer = new ResizeObserver(() =>
      made.setSize({ width: parent.clientWidth, height: HEIGHT }),
    );
    observer.observe(parent);
    return () => {
      observer.disconnect();
      made.destroy();
      chart.current = undefined;
    };
  }, [colours]);
  useEffect(() => chart.current?.setData(dataOf(points, step)), [points, step, end]);
  return html`<div class="rates-chart" aria-hidden="true" ref=${box}></div>`;
}

/** The end of the chart: the last point, or the present when measuring has stopped. */
const endOf = (points: readonly Point[], present: number): number => {
  const last = points.at(-1)?.at ?? present;
  return present - last > STOPPED_MS ? present : last;
};

/**
 * Data of uPlot: seconds, and bytes per second down and up. Times without points are gaps: each point stands for the
 * `step` before it, also an isolated one.
 */
export function dataOf(points: readonly Point[], step: number): uPlot.AlignedData {
  const [times, down, up]: [number[], (number | null)[], (number | null)[]] = [[], [], []];
  const add = (at: number, point: Pick<Point, 'down' | 'up'> | undefined) => {
    times.push(at / 1000);
    down.push(point?.down ?? null);
    up.push(point?.up ?? null);
  };
  let last: number | undefined;
  for (const point of points) {
    if (last === undefined || point.at - last > GAP_STEPS * step) {
      if (last !== undefined) add(last + 1, undefined);
      add(point.at - step, point);
    }
    add(point.at, point);
    last = point.at;
  }
  return [times, down, up];
}

/** The time range of a chart: its end in Unix milliseconds, and its length. */
interface ChartWindow {
  readonly end: number;
  readonly span: number;
}

/** The options of a chart in `parent`; packaging/chart.ts removes the parts of uPlot that they do not need. */
export function optionsFor(parent: HTMLElement, window: () => ChartWindow): uPlot.Options {
  const style = getComputedStyle(parent);
  const colour = (name: string): string => {
    // A custom property holds light-dark() unevaluated; the used colour is one of the two.
    parent.style.color = `var(${name})`;
    const used = style.color;
    parent.style.color = '';
    return used;
  };
  const [text, line, accent] = [colour('--dim'), colour('--line'), colour('--accent')];
  const axis = {
    stroke: text,
    grid: { stroke: line, width: 1 },
    ticks: { stroke: line, width: 1 },
  };
  return {
    width: parent.clientWidth,
    height: HEIGHT,
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: {
        range: () => {
          const { end, span } = window();
          return [(end - span) / 1000, end / 1000];
        },
      },
      y: { range: (_chart, _least, most) => [0, Math.max(1000, most * 1.1)] },
    },
    axes: [
      {
        ...axis,
        values: (_chart, ticks) => ticks.map((at) => timeOfDay(at * 1000)),
        space: 90,
        incrs: SECONDS,
      },
      {
        ...axis,
        values: (_chart, ticks) => ticks.map((at) => (at === 0 ? '0' : rate(at))),
        size: AXIS,
      },
    ],
    series: [
      {},
      { stroke: accent, width: 2, points: { show: false } },
      { stroke: text, width: 2, dash: [5, 4], points: { show: false } },
    ],
  };
}

/** Rates at one time, in bytes per second. */
export interface Point {
  readonly at: number;
  readonly up: number;
  readonly down: number;
  readonly flows: number;
}

/** Points of a chart from those of the topic, oldest first. */
const pointsOf = (points: RatePoints): readonly Point[] =>
  Object.entries(points)
    .map(([at, [up, down, flows]]) => ({ at: Number(at), up, down, flows }))
    .sort((a, b) => a.at - b.at);

const SPANS = [
  { value: 'minutes', title: '2 minutes', step: 1000, span: 120_000 },
  { value: 'hour', title: '1 hour', step: 30_000, span: 3_600_000 },
] as const;

/** The rates of two minutes or an hour, as a chart and as a table. */
export function Rates() {
  const view = useWatch<RatesView>('rates').value;
  const { value, step, span } = place.value.parameters['span'] === 'hour' ? SPANS[1] : SPANS[0];
  const found = value === 'hour' ? view?.halfMinutes : view?.seconds;
  const points = useMemo(() => (found ? pointsOf(found) : []), [found]);
  const now = view?.now;
  return html`<section class="card" aria-labelledby="rates">
    <div class="bar">
      <h2 id="rates">Rates</h2>
      <${Choice}
        label="Time"
        options=${SPANS}
        value=${value}
        onChoose=${(next: string) => setParameters({ span: next === 'hour' ? next : '' })}
      />
      <p class="legend dim">
        <span class="line-down" aria-hidden="true"></span> down ${now ? rate(now.down) : '–'}
        <span class="line-up" aria-hidden="true"></span> up ${now ? rate(now.up) : '–'}
        ${now && html`<span>${counted(now.flows, 'flow')}</span>`}
      </p>
    </div>
    ${
      points.length < 2
        ? html`<p class="dim">
            ${view ? 'The chart begins with the second sample.' : 'Waiting for the dashboard.'}
          </p>`
        : html`<${RatesChart} points=${points} step=${step} span=${span} />`
    }
    <${RatesTable} points=${points} />
  </section>`;
}

/** The rates as a table; its rows are rendered only while it is open. */
function RatesTable({ points }: { readonly points: readonly Point[] }) {
  const [open, setOpen] = useState(false);
  return html`<details
    onToggle=${(event: Event) =>
      setOpen(event.currentTarget instanceof HTMLDetailsElement && event.currentTarget.open)}
  >
    <summary>The same as a table</summary>
    ${
      open &&
      html`<div class="scroll rates-table" tabindex="0" role="region" aria-label="Table of rates">
        <${PlainTable}
          heads=${['Time', 'Down', 'Up', 'Flows']}
          rows=${points.toReversed().map(({ at, up, down, flows }) => ({
            key: at,
            cells: [timeOfDay(at), rate(down), rate(up), count(flows)],
          }))}
        />
      </div>`
    }
  </details>`;
}
