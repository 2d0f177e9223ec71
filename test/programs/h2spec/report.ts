/** A case of h2spec, as its JUnit report has it. */
export interface Case {
  readonly section: string;
  readonly title: string;
  readonly result: 'passed' | 'failed' | 'skipped';
  /** What was expected and what came. */
  readonly detail: string;
}

const CASE =
  /<testcase package="([^"]*)" classname="([^"]*)"[^>]*?(?:\/>|>([\s\S]*?)<\/testcase>)/g;

/** Reads the report; its texts have few entities, and no attribute holds a quote. */
export function readReport(xml: string): Case[] {
  return Array.from(xml.matchAll(CASE), ([, section = '', title = '', content = '']) => ({
    section,
    title: unescape(title),
    result: resultOf(content),
    detail: unescape(content.replace(/<[^>]*>/g, '')).trim(),
  }));
}

function resultOf(content: string): Case['result'] {
  if (content.includes('<skipped')) return 'skipped';
  return /<(?:error|failure)/.test(content) ? 'failed' : 'passed';
}

const ENTITIES: Readonly<Record<string, string>> = {
  '&#34;': '"',
  '&#39;': "'",
  '&quot;': '"',
  '&lt;': '<',
  '&gt;': '>',
  '&amp;': '&',
  '&#xA;': '\n',
};

const unescape = (text: string): string =>
  text.replaceAll(/&[#\w]+;/g, (entity) => ENTITIES[entity] ?? entity);
