/** Letters that Unicode does not take apart, and what people type for them. */
const letters: Readonly<Record<string, string>> = {
  ø: 'o',
  ł: 'l',
  đ: 'd',
  æ: 'ae',
  œ: 'oe',
  ß: 'ss',
  '’': "'",
};

/** Lower case without accents, so that "bronte" finds "Brontë" and "soren" finds "Søren". */
export function fold(text: string): string {
  return text
    .normalize('NFD')
    .replace(/\p{M}/gu, '')
    .toLowerCase()
    .replace(/[øłđæœß’]/g, (letter) => letters[letter] ?? letter);
}
