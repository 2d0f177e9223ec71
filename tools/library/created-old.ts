import ts from 'typescript';

/**
 * Returns the lines of functions that V8 creates in the old generation of its heap, where they keep what they refer to
 * until that is collected: function literals assigned directly to a property, and accessors of object literals
 * (findings/v8-creates-assigned-functions-in-the-old-generation.sh). Those of a module, created once, are left out.
 */
export function createdOld(text: string): readonly number[] {
  const source = ts.createSourceFile('', text, ts.ScriptTarget.Latest, true);
  const lines: number[] = [];
  const visit = (node: ts.Node, isInFunction: boolean): void => {
    if (isInFunction && (isAssignedFunction(node) || isLiteralAccessor(node))) {
      lines.push(source.getLineAndCharacterOfPosition(node.getStart()).line + 1);
    }
    ts.forEachChild(node, (child) => visit(child, isInFunction || ts.isFunctionLike(node)));
  };
  visit(source, false);
  return lines;
}

const isAssignedFunction = (node: ts.Node): boolean =>
  ts.isBinaryExpression(node) &&
  node.operatorToken.kind >= ts.SyntaxKind.FirstAssignment &&
  node.operatorToken.kind <= ts.SyntaxKind.LastAssignment &&
  (ts.isPropertyAccessExpression(node.left) || ts.isElementAccessExpression(node.left)) &&
  isFunction(node.right);

const isFunction = (node: ts.Expression): boolean =>
  ts.isParenthesizedExpression(node)
    ? isFunction(node.expression)
    : ts.isArrowFunction(node) || ts.isFunctionExpression(node);

const isLiteralAccessor = (node: ts.Node): boolean =>
  ts.isAccessor(node) && ts.isObjectLiteralExpression(node.parent);
