import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import ts from 'typescript';

/*
 * The reference of the library for host programs, from the docstrings of what it exports: `npm run docs:library` writes it.
 */

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** Where the reference is, from the root. */
export const REFERENCE = 'docs/library-reference.md';

const HEADER = `# Library reference

<!-- Generated from the docstrings by \`npm run docs:library\`: change those. -->

What [the library](library.md) exports, from its docstrings. Of a configuration as an object the type \`Config\` has the keys of a
[configuration file](configuration.md) with their descriptions, which editors show.
`;

/** The types of single tables, which a page about the configuration describes. */
const isConfigTable = (name: string): boolean => name.endsWith('Config');

/** Returns the page. */
export function libraryReference(): string {
  const path = join(ROOT, 'packages/weir/src/index.ts');
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), (file) =>
    ts.sys.readFile(file),
  );
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  const program = ts.createProgram([path], { ...options, incremental: false, types: [] });
  const checker = program.getTypeChecker();
  const source = program.getSourceFile(path);
  const module = source && checker.getSymbolAtLocation(source);
  if (!module) throw new Error(`${path} exports nothing`);
  const exported = checker
    .getExportsOfModule(module)
    .map((symbol) => ({ name: symbol.name, ...declarationOf(symbol, checker) }))
    .filter(({ name }) => !isConfigTable(name) || name === 'Config');
  const sections = exported
    .toSorted((a, b) => rank(a.node) - rank(b.node) || (a.name < b.name ? -1 : 1))
    .map(({ name, node, symbol }) => sectionOf(name, node, symbol, checker));
  return [HEADER, ...sections].join('\n');
}

interface Declared {
  readonly symbol: ts.Symbol;
  readonly node: ts.Declaration;
}

function declarationOf(symbol: ts.Symbol, checker: ts.TypeChecker): Declared {
  const target = symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol;
  const [node] = target.declarations ?? [];
  if (!node) throw new Error(`${symbol.name} has no declaration`);
  return { symbol: target, node };
}

/** Classes first, then what their members take and return, then values. */
function rank(node: ts.Declaration): number {
  if (ts.isClassDeclaration(node)) return isError(node) ? 1 : 0;
  return ts.isVariableDeclaration(node) ? 3 : 2;
}

const isError = ({ name }: ts.ClassDeclaration): boolean => name?.text.endsWith('Error') === true;

function sectionOf(
  name: string,
  node: ts.Declaration,
  symbol: ts.Symbol,
  checker: ts.TypeChecker,
): string {
  const text = docOf(symbol, checker);
  const heading = `## ${name}\n${text === '' ? '' : `\n${text}\n`}`;
  if (ts.isClassDeclaration(node)) return heading + membersOfClass(name, node, checker);
  if (ts.isInterfaceDeclaration(node)) return heading + interfaceText(node, checker);
  if (ts.isTypeAliasDeclaration(node)) {
    return `${heading}\n${code(`type ${name} = ${plain(node.type.getText())};`)}`;
  }
  return heading;
}

function membersOfClass(name: string, node: ts.ClassDeclaration, checker: ts.TypeChecker): string {
  const members = node.members.filter((member) => isPublic(member) && !implementsOverloads(member));
  return members
    .map((member) => {
      const documented = documentedPart(member, checker);
      const isStatic =
        ts.canHaveModifiers(member) && hasModifier(member, ts.SyntaxKind.StaticKeyword);
      const title = memberTitle(member, isStatic ? name : instanceName(name), checker);
      const text = documented ? docOf(documented, checker) : '';
      return `\n### \`${title}\`\n${text === '' ? '' : `\n${text}\n`}`;
    })
    .join('');
}

const instanceName = (name: string): string => name.charAt(0).toLowerCase() + name.slice(1);

function isPublic(member: ts.ClassElement): boolean {
  if (!member.name || ts.isPrivateIdentifier(member.name)) return false;
  if (ts.isComputedPropertyName(member.name)) return true;
  // What overrides a method of Node is documented there.
  const hidden = [ts.SyntaxKind.PrivateKeyword, ts.SyntaxKind.OverrideKeyword];
  return !(ts.canHaveModifiers(member) && hidden.some((kind) => hasModifier(member, kind)));
}

/** Whether a member is the body of overloads, whose own parameters no caller sees. */
function implementsOverloads(member: ts.ClassElement): boolean {
  if (!ts.isMethodDeclaration(member) || !member.body || !ts.isClassDeclaration(member.parent)) {
    return false;
  }
  const name = member.name.getText();
  return member.parent.members.some(
    (other) => ts.isMethodDeclaration(other) && !other.body && other.name.getText() === name,
  );
}

/** Returns what has the docstring of a member: overloads have one each. */
function documentedPart(
  member: ts.ClassElement,
  checker: ts.TypeChecker,
): ts.Symbol | ts.Signature | undefined {
  if (ts.isMethodDeclaration(member)) return checker.getSignatureFromDeclaration(member);
  return member.name && checker.getSymbolAtLocation(member.name);
}

const hasModifier = (node: ts.HasModifiers, kind: ts.SyntaxKind): boolean =>
  ts.getModifiers(node)?.some((modifier) => modifier.kind === kind) === true;

function memberTitle(member: ts.ClassElement, owner: string, checker: ts.TypeChecker): string {
  const name = member.name?.getText() ?? '';
  const path = name.startsWith('[') ? `${owner}${name}` : `${owner}.${name}`;
  if (ts.isMethodDeclaration(member)) {
    const generics = member.typeParameters?.map((each) => each.getText()).join(', ');
    const parameters = member.parameters.map(parameterText).join(', ');
    const result = member.type ? plain(member.type.getText()) : 'void';
    return `${path}${generics === undefined ? '' : `<${generics}>`}(${parameters}): ${result}`;
  }
  const type = checker.typeToString(checker.getTypeAtLocation(member), member, TYPE_FLAGS);
  return `${path}: ${type}`;
}

const TYPE_FLAGS = ts.TypeFormatFlags.NoTruncation;

function parameterText({
  name,
  type,
  initializer,
  questionToken,
}: ts.ParameterDeclaration): string {
  const shown = ts.isIdentifier(name) ? name.text : 'options';
  const mark = (initializer ?? questionToken) ? '?' : '';
  return `${shown}${mark}: ${plain(type?.getText() ?? 'unknown')}`;
}

/** Returns the members of an interface as a table, after what it extends. */
function interfaceText(node: ts.InterfaceDeclaration, checker: ts.TypeChecker): string {
  const bases = (node.heritageClauses ?? []).flatMap(({ types }) =>
    types.map((type) => type.getText()),
  );
  const extended = bases.length === 0 ? '' : `\nExtends \`${bases.join('`, `')}\`.\n`;
  const rows = node.members.map((member) => {
    const symbol = member.name && checker.getSymbolAtLocation(member.name);
    const text = symbol ? docOf(symbol, checker).replaceAll(/\s*\n\s*/g, ' ') : '';
    return `| ${cell(signatureText(member))} | ${text.replaceAll('|', '\\|')} |\n`;
  });
  return rows.length === 0
    ? extended
    : `${extended}\n| Member | Description |\n|---|---|\n${rows.join('')}`;
}

/** Returns a member without what every member has: `readonly`, and `undefined` beside a question mark. */
function signatureText(member: ts.TypeElement): string {
  const text = plain(member.getText())
    .replace(/^readonly /, '')
    .replace(/;$/, '');
  return member.questionToken ? text.replace(/ \| undefined$/, '') : text;
}

const cell = (text: string): string => `\`${text.replaceAll('|', '\\|')}\``;

const code = (text: string): string => `\`\`\`ts\n${text}\n\`\`\`\n`;

/** Returns a text of the source in one line, without comments. */
const plain = (text: string): string =>
  text
    .replaceAll(/\/\*\*.*?\*\//gs, '')
    .replaceAll(/\s+/g, ' ')
    .replace(/^\| /, '')
    .trim();

/** Returns the docstring of a symbol or a signature, with its tags. */
function docOf(symbol: ts.Symbol | ts.Signature, checker: ts.TypeChecker): string {
  const text = ts.displayPartsToString(symbol.getDocumentationComment(checker));
  const tags = symbol.getJsDocTags(checker).map(({ name, text: parts }) => {
    const about = ts.displayPartsToString(parts).replaceAll(/\s*\n\s*/g, ' ');
    if (name === 'param') return `- ${about.replace(/^(\w+) /, '`$1`: ')}`;
    if (name === 'throws') return `- Rejects or throws ${about.replace(/^\{(\w+)\}/, '`$1`')}`;
    return `- ${name === 'returns' ? 'Returns' : name}: ${about}`;
  });
  return [text, ...(tags.length === 0 ? [] : [tags.join('\n')])]
    .filter((part) => part !== '')
    .join('\n\n');
}
