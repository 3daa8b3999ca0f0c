/** Where invented customers live, and the common names they are put together from. */
export interface Region {
  readonly country: string;
  readonly cities: readonly string[];
  readonly given: readonly string[];
  readonly family: readonly string[];
}

/** Splits a line of names at its blanks. */
function list(line: string): readonly string[] {
  return line.split(' ');
}

/** The countries the shop delivers to. */
export const regions: readonly Region[] = [
  {
    country: 'Germany',
    cities: list('Berlin Hamburg Leipzig Bremen Freiburg'),
    given: list('Anna Lukas Sophie Jonas Leonie Felix Clara Moritz Greta Tobias'),
    family: list('Becker Hofmann Krause Lehmann Vogel Winter Brandt Schuster Engel Lorenz'),
  },
  {
    country: 'France',
    cities: list('Paris Lyon Nantes Lille Rennes'),
    given: list('Camille Hugo Manon Louis Chloé Antoine Élise Mathieu Léa Julien'),
    family: list(
      'Moreau Lambert Girard Fontaine Roussel Mercier Blanchard Garnier Chevalier Perrin',
    ),
  },
  {
    country: 'Italy',
    cities: list('Rome Turin Bologna Palermo Trieste'),
    given: list('Giulia Marco Chiara Luca Elena Matteo Sara Davide Paola Andrea'),
    family: list('Rossi Ferrari Bianchi Colombo Riva Marino Greco Gallo Conti Fontana'),
  },
  {
    country: 'Spain',
    cities: list('Madrid Sevilla Bilbao Valencia Zaragoza'),
    given: list('Lucía Pablo Carmen Diego Marta Javier Inés Álvaro Nuria Sergio'),
    family: list('García Navarro Pastor Molina Serrano Castro Vega Herrera Crespo Santos'),
  },
  {
    country: 'Netherlands',
    cities: list('Amsterdam Utrecht Leiden Groningen Delft'),
    given: list('Emma Daan Sanne Bram Lotte Jeroen Femke Ruben Iris Pieter'),
    family: list('Jansen Visser Smit Mulder Bakker Dekker Vos Kramer Postma Willems'),
  },
  {
    country: 'Austria',
    cities: list('Vienna Graz Linz Salzburg Innsbruck'),
    given: list('Katharina Florian Magdalena Stefan Theresa Markus Johanna Paul Lena Georg'),
    family: list('Gruber Huber Steiner Moser Pichler Eder Fuchs Wallner Auer Lechner'),
  },
  {
    country: 'Poland',
    cities: list('Warsaw Kraków Gdańsk Wrocław Poznań'),
    given: list('Zofia Jakub Maja Michał Alicja Tomasz Ewa Paweł Hanna Piotr'),
    family: list('Kowalczyk Nowak Mazur Wójcik Krawczyk Kaczmarek Dudek Pawlak Sikora Baran'),
  },
  {
    country: 'Portugal',
    cities: list('Lisbon Porto Coimbra Braga Évora'),
    given: list('Inês João Beatriz Tiago Mariana Rui Leonor Miguel Joana Nuno'),
    family: list('Silva Ferreira Carvalho Almeida Ribeiro Moura Teixeira Moreira Lopes Marques'),
  },
  {
    country: 'Ireland',
    cities: list('Dublin Cork Galway Limerick Waterford'),
    given: list('Aoife Conor Niamh Sean Ciara Patrick Orla Liam Grace Declan'),
    family: list('Murphy Sheridan Walsh Byrne Doyle Nolan Keane Brennan Flynn Quinn'),
  },
  {
    country: 'Sweden',
    cities: list('Stockholm Gothenburg Uppsala Lund Umeå'),
    given: list('Elsa Erik Maja Oskar Linnea Nils Ebba Gustav Karin Anders'),
    family: list('Lindqvist Nyström Sandberg Holm Sjögren Ekström Forsberg Lundin Åberg Norling'),
  },
  {
    country: 'Denmark',
    cities: list('Copenhagen Aarhus Odense Aalborg Roskilde'),
    given: list('Freja Mikkel Ida Søren Astrid Lars Signe Rasmus Mette Jens'),
    family: list('Jensen Madsen Kjær Møller Bak Lund Thomsen Poulsen Dahl Bruun'),
  },
  {
    country: 'Belgium',
    cities: list('Brussels Ghent Antwerp Liège Namur'),
    given: list('Lise Wout Elke Thomas Nele Simon Amélie Jan Margot Koen'),
    family: list('Peeters Maes Claes Wouters Dubois Lejeune Renard Goossens Hermans Simons'),
  },
];
