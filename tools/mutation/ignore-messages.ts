/** What this needs of a Babel path. */
interface NodePath {
  readonly node: { readonly type: string; readonly callee?: { readonly name?: string } };
  readonly parentPath: NodePath | null;
}

const TEXT = new Set(['StringLiteral', 'TemplateLiteral', 'TemplateElement']);

/** Constructors and functions that make an error: their texts are for people, and tested elsewhere. */
const ERROR = /(Error|Reject(ion|ed)?|[vV]iolation|BadRequest)$/;

/**
 * A plugin of Stryker (kind `Ignore`): no mutants of the text of an error. Whether an error is thrown,
 * and which one, is still mutated.
 */
export const strykerPlugins = [
  {
    kind: 'Ignore',
    name: 'messages',
    value: {
      /** The reason to ignore a node, if there is one. */
      shouldIgnore(path: NodePath): string | undefined {
        if (!TEXT.has(path.node.type)) return undefined;
        for (let at = path.parentPath; at; at = at.parentPath) {
          const { type, callee } = at.node;
          const isCall = type === 'NewExpression' || type === 'CallExpression';
          if (isCall && ERROR.test(callee?.name ?? '')) return 'the text of an error';
          if (type.endsWith('Statement') || type.endsWith('Function')) return undefined;
        }
        return undefined;
      },
    },
  },
];
