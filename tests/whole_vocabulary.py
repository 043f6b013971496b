"""A SKOS file with all that is read of one, in two languages, and documents for it."""

from __future__ import annotations

SKOS = """\
@prefix skos: <http://www.w3.org/2004/02/skos/core#> . @prefix e: <http://e/> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
e:zoo a skos:ConceptScheme ; skos:hasTopConcept e:1 .
e:1 a skos:Concept, e:Topic ; skos:notation "59" ; skos:prefLabel "Animals"@en, "Djur"@sv ; skos:narrower e:2 .
e:2 a skos:Concept, e:Topic, e:Kind ; skos:notation "598" ; skos:inScheme e:zoo, e:farm ; skos:related e:3 ;
    skos:prefLabel "Birds"@en, "Fåglar"@sv ; skos:altLabel "Aves"@sv ; skos:exactMatch <http://d/598> ;
    skos:closeMatch <http://w/Q5113> ; skos:definition "They fly."@en, "De flyger."@sv ; skos:scopeNote "Not bats."@en .
e:3 a skos:Concept ; skos:notation "637.5" ; skos:topConceptOf e:zoo ; skos:prefLabel "Eggs"@en, "Ägg"@sv ;
    skos:scopeNote "Laid."@en .
e:4 a skos:Concept ; skos:prefLabel "Dragons"@en ; owl:deprecated true .
e:5 a skos:Concept ; skos:notation "598.9" ; skos:broader e:2 ; skos:prefLabel "Owls"@en, "Ugglor"@sv ;
    skos:inScheme e:zoo .
e:night a skos:Collection ; skos:prefLabel "Night"@en ; skos:member e:5, e:inner .
e:inner a skos:OrderedCollection ; skos:memberList ( e:3 e:1 ) .
"""

ENGLISH = "Birds and owls are animals that lay eggs."
SWEDISH = "Fåglar och ugglor är djur som lägger ägg."
