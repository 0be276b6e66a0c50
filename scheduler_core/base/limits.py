"""All limits of the APIs, each with its source.

KEP: KEP-4815 in its first form (composite devices). v1: ``resource.k8s.io/v1`` types of Kubernetes 1.37.
"""

from typing import Final

# KEP: "the total number of mixins, basic devices, and composite devices must be less than 128"
COMPOSITE_ITEMS_BELOW: Final = 128
# KEP: Includes, ConsumesCapacityFrom
INCLUDES: Final = 8
SOURCES: Final = 8
# KEP and v1: attributes and capacities combined, of one mixin or device
PROPERTIES: Final = 32
# v1: QualifiedName
IDENTIFIER_LENGTH: Final = 32
DOMAIN_LENGTH: Final = 63
# v1: string and version attributes, in bytes
VALUE_LENGTH: Final = 64
# DNS label; v1 device and counter set names
LABEL_LENGTH: Final = 63
# v1: ResourceSlice
DEVICES: Final = 128
DEVICES_WITH_COUNTERS: Final = 64  # or with taints
COUNTER_SETS: Final = 8
COUNTERS: Final = 32
COUNTER_SETS_PER_DEVICE: Final = 2
COMPATIBILITY_GROUPS: Final = 2
POOL_NAME_LENGTH: Final = 253
# v1: ResourceClaim
REQUESTS: Final = 32
ALTERNATIVES: Final = 8
SELECTORS: Final = 32
CONSTRAINTS: Final = 32
CONFIGS: Final = 32
RESULTS: Final = 32
EXPRESSION_LENGTH: Final = 10 * 1024
TOLERATIONS: Final = 16
DERIVED_ATTRIBUTES: Final = 32
TAINTS: Final = 16
# v1: the parameters of an opaque configuration, in bytes
OPAQUE_LENGTH: Final = 10 * 1024
# v1: all values of list-typed attributes of a device
LIST_VALUES: Final = 48
# KEP-5075: requestPolicy.validValues
VALID_VALUES: Final = 10
# v1: binding conditions, of each kind
BINDING_CONDITIONS: Final = 4
