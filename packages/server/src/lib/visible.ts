/** Control characters, what turns the direction of text, and what takes no room: by each a text can show less, or other, than it is. */
export const hidden = /[\p{Cc}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/gu;

/** Names from a sandbox may hold escape sequences; whoever reads gets them visible, not obeyed (hazard 33). */
export function visible(text: string): string {
  return text.replaceAll(hidden, (character) => {
    const code = character.codePointAt(0) ?? 0;
    return `\\u{${code.toString(16)}}`;
  });
}
