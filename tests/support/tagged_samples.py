"""Small files of tagged formats that several tests read."""

from __future__ import annotations

CONLLU = """\
# newdoc id = d1
# sent_id = s1
# text = Ann left New York
1\tAnn\t_\tPROPN\t_\t_\t0\t_\t_\tNER=B-PER|SpaceAfter=No
2-3\tleftit\t_\t_\t_\t_\t_\t_\t_\t_
2\tleft\t_\t_\t_\t_\t0\t_\t_\t_
3\tit\t_\t_\t_\t_\t0\t_\t_\t_
3.1\tghost\t_\t_\t_\t_\t_\t_\t_\t_
4\tNew\t_\t_\t_\t_\t0\t_\t_\tNER=B-LOC
5\tYork\t_\t_\t_\t_\t0\t_\t_\tNER=I-LOC

# newdoc
# sent_id = s2
1\tBob\t_\t_\t_\t_\t0\t_\t_\tNER=B-PER
"""

HIPE = """\
TOKEN\tNE-COARSE-LIT\tNE-COARSE-METO\tNE-FINE-LIT\tNE-FINE-METO\tNE-FINE-COMP\tNE-NESTED\tNEL-LIT\tNEL-METO\tMISC
# hipe2022:document_id = d1
Ann\tB-pers\tO\tB-pers.ind\tO\tO\tO\tQ1\t_\t_
left\tO\tO\tO\tO\tO\tO\t_\t_\tEndOfSentence
# segment = x
Rome\tB-loc\tB-org\tB-loc.adm\tO\tO\tO\tQ2\t_\tEndOfLine
.\tO\tO\tO\tO\tO\tO\t_\t_\t_
# hipe2022:document_id = d2
Bob\tB-pers\tO\t_\tO\tO\tO\t_\t_\t_
"""

FLAIR = """\
Ann B-PER B-PER 0.99
Lee I-PER O 0.5
New York B-LOC B-LOC 1.0

Bob O B-PER 9e-05
"""

WEBANNO = """\
#FORMAT=WebAnno TSV 3.2
#T_SP=x.y.POS|PosValue
#T_SP=de.tudarmstadt.ukp.dkpro.core.api.ner.type.NamedEntity|identifier|value


#Text=Ann Lee left New York
1-1\t0-3\tAnn\tN\t*[1]|*\tPER[1]|NAME\t
1-2\t4-7\tLee\tN\t*[1]\tPER[1]\t
1-3\t8-12\tleft\tV\t_\t_\t
1-3.1\t8-10\tle\t_\t*\tODD\\_ONE\t
1-4\t13-16\tNew\tN\t*[2]\tLOC[2]\t
1-5\t17-21\tYork\tN\t*[2]\tLOC[2]\t

#Text=a [b]
2-1\t22-23\ta\tN\t_\t_\t
2-2\t24-27\t\\[b\\]\tN\t*\t*\t
"""
