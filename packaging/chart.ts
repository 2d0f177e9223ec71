import { readFile } from 'node:fs/promises';
import type { Plugin } from 'esbuild';

/*
 * uPlot is one function of 60 KB, of which a bundler can leave out nothing. The chart of the page has neither
 * cursor nor legend, one kind of scale and of line, and writes its own labels; this build of uPlot has no more.
 * test/browser/packed-page.test.ts compares what both draw.
 */

/** Functions that are not called then, by what they are for. */
const UNUSED = {
  cursor:
    'updateCursor cacheMouse mouseMove mouseDown mouseUp mouseLeave dblClick onMouse offMouse initCursorPt ' +
    'elSize elTrans elColor closestIdxFromXpos cursorPointShow cursorPointStroke cursorPointFill ' +
    'cursorPointSize cursorMove filtBtn0 filtTarg',
  selection: 'setSelH setSelV setSelect',
  // One chart that follows another one.
  together: 'pub pubSync',
  legend:
    'initLegendRow setLegend setLegendValues syncLegend legendStroke legendFill numSeriesVal ' +
    'timeSeriesVal timeSeriesStamp',
  otherSeries:
    'addSeries delSeries setSeries setFocus setAlpha toggleDOM batch addBand clipBandLine ' +
    'setDefaults2 seriesPointsShow',
  areas: 'bandFillClipDirs seriesFillTo',
  // Without a range of their own, or not linear.
  otherScales:
    'logAxisSplits asinhAxisSplits log10AxisValsFilt log2AxisValsFilt clampScale rangeNum rangeLog ' +
    'rangeAsinh _rangeNum snapNumY snapLogY snapAsinhY',
  labels: 'numAxisVals timeAxisVal timeAxisVals timeAxisStamps',
} as const;

/** Statements that stand once, and what is left of them with the options of the chart. */
const SETTLED: readonly (readonly [from: string, to: string])[] = [
  ['const mode = self.mode;', ''],
  ['const ms = opts.ms || 1e-3;', 'const ms = 1e-3;'],
  ['const showLegend = legend.show;', ''],
  ['const showCursor =                cursor.show;', ''],
  ['const cursorFocus = focus.prox >= 0;', ''],
  ['const cursorOnePt = cursorFocus && points.one;', ''],
  ['const xScaleDistr = scaleX.distr;', ''],
  ['if (cursor.dataIdx == null) {', 'if (false) {'],
  ['const pointsPath = points() ;', 'const pointsPath = undefined;'],
  ['= (opts.fmtDate || fmtDate);', '= undefined;'],
  [
    '= timeAxisVals(_tzDate, timeAxisStamps((ms == 1 ? _timeAxisStampsMs : _timeAxisStampsS), _fmtDate));',
    '= undefined;',
  ],
  ['= timeSeriesVal(_tzDate, timeSeriesStamp(_timeSeriesStamp, _fmtDate));', '= undefined;'],
  ['] = genTimeStuffs(1);', '] = [];'],
  ['if (isMo || isYr) {', 'if (false) {'],
  ['= days.map(slice3);', '= 0;'],
  ['= months.map(slice3);', '= 0;'],
  ["= new Intl.NumberFormat(domEnv ? nav.language : 'en-US');", '= 0;'],
  ['= new Intl.DateTimeFormat().resolvedOptions().timeZone;', '= 0;'],
  ['flags != 0 && bands.forEach(', 'false && bands.forEach('],
  ['if (bandClip) {', 'if (false) {'],
  ['if (axis.label != null) {', 'if (false) {'],
];

/**
 * Expressions, and their values with the options of the chart: the bundler then leaves out what depends on them. It
 * does not find them itself, because it follows the value of no variable within a function.
 */
const KNOWN: readonly (readonly [expression: RegExp, value: string])[] = [
  [/\bmode == 1\b/g, 'true'],
  [/\bmode == 2\b/g, 'false'],
  [/\bms == 1\b/g, 'false'],
  [/\bscaleX\.ori == 0\b/g, 'true'],
  [/\bscaleX\.ori == 1\b/g, 'false'],
  // Kinds of scales: 1 is linear.
  [/\b(?:[a-z]+\.d|xScaleD|d)istr (?:==|>=) +(?:2|3|4|100)\b/g, 'false'],
  [/\b\w+\.from != null/g, 'false'],
  [/\b\w+\.from == null/g, 'true'],
  [/\b(?:showLegend|showCursor|cursorFocus|cursorOnePt)\b/g, 'false'],
  // Areas between lines and below them.
  [/\bbandFillClipDirs\(u, seriesIdx\)/g, '[]'],
  [/\bbandClipDir != 0\b/g, 'false'],
  [/\bseries\.fill != null \|\| bandFillDir != 0\b/g, 'false'],
];

/** Has a bundle contain only what the page needs of uPlot. */
export const LESS_CHART: Plugin = {
  name: 'less-chart',
  setup(builder) {
    builder.onLoad({ filter: /[\\/]uPlot\.esm\.js$/ }, async ({ path }) => ({
      contents: lessChart(await readFile(path, 'utf8')),
    }));
  },
};

/**
 * The module of uPlot without what the page does not use.
 * @throws when it is not the uPlot that this was made for
 */
export function lessChart(source: string): string {
  let text = source;
  for (const [from, to] of SETTLED) text = replaceOnce(text, from, to);
  for (const [expression, value] of KNOWN) {
    if (text.search(expression) < 0) throw new Error(`uPlot has 0 times: ${expression.source}`);
    text = text.replaceAll(expression, value);
  }
  for (const name of Object.values(UNUSED).join(' ').split(' ')) {
    const body = new RegExp(`^(\\t*)function ${name}\\(.*\\{\\n[^]*?\\n\\1\\}$`, 'm');
    text = replaceOnce(text, body.exec(text)?.[0] ?? name, `function ${name}() { unused(); }`);
  }
  text = replaceOnce(
    text,
    between(text, 'const _timeAxisStamps = [', '\n\t];'),
    'const _timeAxisStamps = 0;',
  );
  text = replaceOnce(text, between(text, 'let subSecIncrs = ', '\n\t]);'), 'let timeIncrs = 0;');
  // What it exports beside the chart, kinds of lines among it.
  text = replaceOnce(text, between(text, 'uPlot.assign = ', '\nexport '), '\nexport ');
  return `${text}\nfunction unused() { throw new Error('packaging/chart.ts left this out'); }\n`;
}

function between(text: string, first: string, last: string): string {
  const start = text.indexOf(first);
  return text.slice(start, text.indexOf(last, start) + last.length);
}

function replaceOnce(text: string, from: string, to: string): string {
  const parts = text.split(from);
  if (parts.length !== 2)
    throw new Error(`uPlot has ${parts.length - 1} times: ${from.slice(0, 80)}`);
  return parts.join(to);
}
